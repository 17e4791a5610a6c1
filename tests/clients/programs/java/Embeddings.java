import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.model.embedding.onnx.allminilml6v2q.AllMiniLmL6V2QuantizedEmbeddingModel;
import dev.langchain4j.store.embedding.CosineSimilarity;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Executors;
import java.util.stream.Stream;

/** Prints what langchain4j's all-MiniLM-L6-v2 (int8), which its jar carries, makes of texts. Arguments: none. */
public class Embeddings {
  private static final List<String> TEXTS = List.of(
      "A man is eating food.", "Someone eats a meal.", "The stock market fell sharply today.", "Es regnet in Strömen.",
      "x", "1234567890 !? ()", "A sentence that goes on. ".repeat(80), "emoji \uD83D\uDE00 and 漢字",
      "Run the tests before you commit.");

  private static void say(String name, float[] vector) {
    StringBuilder line = new StringBuilder("result " + name + ": " + vector.length);
    for (int i = 0; i < vector.length; i += 24) line.append(String.format(Locale.ROOT, " %.5f", vector[i]));
    System.out.println(line);
  }

  public static void main(String[] arguments) throws Exception {
    var pool = Executors.newFixedThreadPool(2);
    var model = new AllMiniLmL6V2QuantizedEmbeddingModel(pool);
    for (int i = 0; i < TEXTS.size(); ++i) say("text " + i, model.embed(TEXTS.get(i)).content().vector());
    var all = model.embedAll(TEXTS.stream().map(TextSegment::from).toList()).content();
    for (int i = 0; i < all.size(); ++i) say("text " + i + " of all", all.get(i).vector());
    var nearest = Stream.of(1, 2, 3, 8).max((a, b) -> Double.compare(
        CosineSimilarity.between(all.get(0), all.get(a)), CosineSimilarity.between(all.get(0), all.get(b)))).get();
    for (int i = 0; i < all.size(); ++i) {
      StringBuilder line = new StringBuilder("result similarities of text " + i + ":");
      for (var other : all) line.append(String.format(Locale.ROOT, " %.4f", CosineSimilarity.between(all.get(i), other)));
      System.out.println(line);
    }
    System.out.println("result the nearest to text 0: " + nearest);
    System.out.println("result dimension: " + model.dimension());
    pool.shutdown();
  }
}
