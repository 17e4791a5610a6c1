// tests/clients/programs/java/Spring.java - prints the vectors that Spring AI makes of texts.
// usage: java -cp JARS Spring MODELS, with what transformers_small.py has written
import java.nio.file.*;
import java.util.*;
import org.springframework.ai.document.*;
import org.springframework.ai.embedding.*;
import org.springframework.ai.transformers.TransformersEmbeddingModel;

public class Spring {
  static final List<String> TEXTS =
      List.of("hello world", "the quick brown fox jumps over the lazy dog", "a text that nobody knows", "fox");

  static void say(String name, float[] vector) {
    StringBuilder words = new StringBuilder();
    for (float one : vector) words.append(String.format(Locale.ROOT, " %.5f", one));
    System.out.println("result " + name + ":" + words);
  }

  static TransformersEmbeddingModel open(Path folder, String file, boolean padded) throws Exception {
    var model = new TransformersEmbeddingModel(MetadataMode.NONE);
    model.setTokenizerResource(folder.resolve("tokenizer.json").toUri().toString());
    model.setModelResource(folder.resolve(file).toUri().toString());
    model.setTokenizerOptions(padded ? Map.of("padding", "true") : Map.of());
    model.setDisableCaching(true);
    model.afterPropertiesSet();
    return model;
  }

  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[0], "feature-extraction");
    var model = open(folder, "onnx/model.onnx", true);
    System.out.println("result dimensions: " + model.dimensions());
    for (String text : TEXTS) say("alone, " + text, model.embed(text));
    List<float[]> together = model.embed(TEXTS);
    for (int k = 0; k < TEXTS.size(); ++k) say("together, " + TEXTS.get(k), together.get(k));
    say("a document", model.embed(new Document("hello fox", Map.of("kind", "words"))));
    EmbeddingResponse response = model.embedForResponse(TEXTS);
    for (var one : response.getResults()) say("response " + one.getIndex(), one.getOutput());
    var threads = new ArrayList<Thread>();
    var found = Collections.synchronizedSet(new TreeSet<String>());
    for (int k = 0; k < 8; ++k)
      threads.add(new Thread(() -> found.add(Arrays.toString(model.embed("hello world")))));
    for (Thread thread : threads) thread.start();
    for (Thread thread : threads) thread.join();
    System.out.println("result eight threads: " + found.size());
    var wrong = new TransformersEmbeddingModel();
    wrong.setModelResource(folder.resolve("tokenizer.json").toUri().toString());
    wrong.setTokenizerResource(folder.resolve("tokenizer.json").toUri().toString());
    wrong.setDisableCaching(true);
    try {
      wrong.afterPropertiesSet();
      System.out.println("result what is no model: opened");
    } catch (ai.onnxruntime.OrtException error) {
      System.out.println("result what is no model: " + error.getCode());
    }
    System.exit(0);
  }
}
