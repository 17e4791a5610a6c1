// Prints what OpenNLP finds in texts with small random models. Arguments: the folder of the models.

import java.io.File;
import java.util.HashMap;
import java.util.Map;
import opennlp.dl.InferenceOptions;
import opennlp.dl.doccat.DocumentCategorizerDL;
import opennlp.dl.doccat.scoring.AverageClassificationScoringStrategy;
import opennlp.dl.namefinder.NameFinderDL;
import opennlp.dl.vectors.SentenceVectorsDL;
import opennlp.tools.sentdetect.SentenceDetector;
import opennlp.tools.util.Span;

public class OpenNlp {
  static final String[] TEXTS = {"the cat sat on the mat .", "who is my dog", "new york is where the dog ran .",
      "my name is zoe", "a b c d e f g h i j k l m n o p q r s t u v w x y z"};

  /** The whole text as one sentence. */
  static class One implements SentenceDetector {
    public String[] sentDetect(CharSequence text) {
      return new String[] {text.toString()};
    }

    public Span[] sentPosDetect(CharSequence text) {
      return new Span[] {new Span(0, text.length())};
    }
  }

  static void say(String name, Object... values) {
    StringBuilder line = new StringBuilder("result " + name + ":");
    for (Object value : values) line.append(' ').append(String.valueOf(value).replace(' ', '_'));
    System.out.println(line);
  }

  static Object[] boxed(double[] values) {
    Object[] made = new Object[values.length];
    for (int i = 0; i < values.length; i++) made[i] = values[i];
    return made;
  }

  static void vectors(File models, File words) throws Exception {
    SentenceVectorsDL vectors = new SentenceVectorsDL(new File(models, "feature-extraction/model.onnx"), words);
    for (String text : TEXTS) {
      float[] found = vectors.getVectors(text);
      double[] wide = new double[found.length];
      for (int i = 0; i < found.length; i++) wide[i] = found[i];
      say("vector of " + text, boxed(wide));
    }
  }

  static void kinds(File models, File words, Map<Integer, String> labels) throws Exception {
    for (int size : new int[] {200, 6}) {
      InferenceOptions options = new InferenceOptions();
      options.setDocumentSplitSize(size);
      options.setSplitOverlapSize(size / 3);
      DocumentCategorizerDL categorizer = new DocumentCategorizerDL(new File(models, "text-classification/model.onnx"),
          words, labels, new AverageClassificationScoringStrategy(), options);
      for (String text : TEXTS) {
        double[] found = categorizer.categorize(new String[] {text});
        say("kinds of " + text + " in parts of " + size, boxed(found));
        say("best kind of " + text + " in parts of " + size, categorizer.getBestCategory(found),
            categorizer.sortedScoreMap(new String[] {text}).lastKey());
      }
    }
  }

  static void names(File models, File words, Map<Integer, String> labels) throws Exception {
    NameFinderDL finder = new NameFinderDL(new File(models, "token-classification/model.onnx"), words, labels,
        new One());
    for (String text : TEXTS) {
      Span[] found = finder.find(text.split(" "));
      say("names in " + text, found.length);
      for (Span span : found) say("name in " + text + " at " + span.getStart(), span, span.getProb());
    }
  }

  public static void main(String[] arguments) throws Exception {
    File models = new File(arguments[0]);
    File words = new File(models, "vocabulary.txt");
    Map<Integer, String> labels = new HashMap<>(Map.of(0, NameFinderDL.B_PER, 1, "O", 2, NameFinderDL.I_PER));
    vectors(models, words);
    kinds(models, words, labels);
    names(models, words, labels);
    try {
      new SentenceVectorsDL(words, words);
      say("what is no model", "is loaded");
    } catch (ai.onnxruntime.OrtException error) {
      say("what is no model", error.getCode());
    }
    System.out.println("end");
  }
}
