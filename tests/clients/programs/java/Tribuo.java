// Prints what Tribuo predicts with models of other libraries, also after they were kept and read again, one by one and
// together. Arguments: the folder of the models.

import ai.onnxruntime.OrtSession.SessionOptions;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.tribuo.Example;
import org.tribuo.Model;
import org.tribuo.Output;
import org.tribuo.OutputFactory;
import org.tribuo.Prediction;
import org.tribuo.classification.Label;
import org.tribuo.classification.LabelFactory;
import org.tribuo.impl.ArrayExample;
import org.tribuo.interop.onnx.DenseTransformer;
import org.tribuo.interop.onnx.ExampleTransformer;
import org.tribuo.interop.onnx.ImageTransformer;
import org.tribuo.interop.onnx.LabelTransformer;
import org.tribuo.interop.onnx.ONNXExternalModel;
import org.tribuo.interop.onnx.OutputTransformer;
import org.tribuo.interop.onnx.RegressorTransformer;
import org.tribuo.protos.core.ModelProto;
import org.tribuo.regression.RegressionFactory;
import org.tribuo.regression.Regressor;

public class Tribuo {
  static void say(String name, Object... values) {
    StringBuilder line = new StringBuilder("result " + name + ":");
    for (Object value : values) line.append(' ').append(String.valueOf(value).replace(' ', '_'));
    System.out.println(line);
  }

  static Object[] numbers(Output<?> output, Prediction<?> prediction) {
    if (output instanceof Regressor) {
      Regressor found = (Regressor) output;
      return new Object[] {found.getNames()[0], found.getValues()[0], found.getNames()[1], found.getValues()[1]};
    }
    List<Object> made = new ArrayList<>(List.of(((Label) output).getLabel()));
    for (String label : new String[] {"red", "green", "blue"})
      made.add(((Label) prediction.getOutputScores().get(label)).getScore());
    return made.toArray();
  }

  static <T extends Output<T>> List<Example<T>> examples(T unknown, int features) {
    Random random = new Random(7);
    List<Example<T>> made = new ArrayList<>();
    for (int row = 0; row < 6; row++) {
      String[] names = new String[features];
      double[] values = new double[features];
      for (int i = 0; i < features; i++) {
        names[i] = String.format("f%03d", i);
        values[i] = random.nextGaussian();
      }
      made.add(new ArrayExample<>(unknown, names, values));
    }
    return made;
  }

  static <T extends Output<T>> void predict(String name, Model<T> model, List<Example<T>> examples) {
    for (int row = 0; row < examples.size(); row++) {
      Prediction<T> found = model.predict(examples.get(row));
      say(name + ", row " + row, numbers(found.getOutput(), found));
    }
    List<Prediction<T>> every = model.predict(examples);
    for (int row = 0; row < examples.size(); row++)
      say(name + ", row " + row + " of all", numbers(every.get(row).getOutput(), every.get(row)));
  }

  @SuppressWarnings("unchecked")
  static <T extends Output<T>> void model(String name, Path path, OutputFactory<T> factory, Map<T, Integer> outputs,
      int features, ExampleTransformer taken, OutputTransformer<T> given) throws Exception {
    Map<String, Integer> numbered = new HashMap<>();
    for (int i = 0; i < features; i++) numbered.put(String.format("f%03d", i), i);
    SessionOptions options = new SessionOptions();
    options.setIntraOpNumThreads(1);
    ONNXExternalModel<T> model = ONNXExternalModel.createOnnxModel(factory, numbered, outputs, taken, given, options,
        path, "x");
    List<Example<T>> examples = examples(factory.getUnknownOutput(), features);
    predict(name, model, examples);
    Path kept = Files.createTempFile("kept", ".model");
    try {
      model.serializeToFile(kept);
      try (ONNXExternalModel<T> read = (ONNXExternalModel<T>) Model.deserializeFromFile(kept)) {
        predict(name + " read again", read, examples);
      }
    } finally {
      Files.delete(kept);
    }
    say(name + " says where it comes from", model.getProvenance().getClassName());
    model.close();
  }

  public static void main(String[] arguments) throws Exception {
    Path models = Path.of(arguments[0]);
    Map<Label, Integer> labels = Map.of(new Label("red"), 0, new Label("green"), 1, new Label("blue"), 2);
    Map<Regressor, Integer> numbers = Map.of(new Regressor("height", Double.NaN), 0, new Regressor("width", Double.NaN),
        1);
    model("labels", models.resolve("labels.onnx"), new LabelFactory(), labels, 6, new DenseTransformer(),
        new LabelTransformer());
    model("numbers", models.resolve("numbers.onnx"), new RegressionFactory(), numbers, 6, new DenseTransformer(),
        new RegressorTransformer());
    model("pictures", models.resolve("pictures.onnx"), new LabelFactory(), labels, 192, new ImageTransformer(3, 8, 8),
        new LabelTransformer());
    System.out.println("end");
  }
}
