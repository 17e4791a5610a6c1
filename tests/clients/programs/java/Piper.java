// Piper.java - speaks texts with piper-jni and prints what the sound is like.
// usage: java Piper VOICES
import io.github.givimad.piperjni.PiperJNI;
import java.nio.file.Path;
import java.util.StringJoiner;

public class Piper {
    static final String[] ENGLISH = {"Hello world.", "One sentence. And another one, which is longer!", "12 of 34?"};
    static final String[] ARABIC = {"مرحبا بالعالم", "هذا نص عربي قصير للتجربة", "ذهب الولد إلى المدرسة في الصباح"};

    static void say(String name, short[] sound) {
        StringJoiner words = new StringJoiner(" ");
        words.add(String.valueOf(sound.length));
        double[] loud = new double[12];
        for (int i = 0; i < sound.length; ++i)
            loud[(int) (12L * i / sound.length)] += Math.abs((double) sound[i]) / sound.length;
        for (double part : loud)
            words.add(String.format("%.2f", part));
        System.out.println("result " + name + ": " + words);
    }

    public static void main(String[] arguments) throws Exception {
        Path voices = Path.of(arguments[0]);
        try (PiperJNI piper = new PiperJNI()) {
            piper.initialize(true, true);
            System.out.println("result version: " + piper.getPiperVersion());
            for (String language : new String[] {"en-us", "ar"}) {
                Path model = voices.resolve(language + ".onnx");
                for (long speaker = 0; speaker < 2; ++speaker)
                    try (var voice = piper.loadVoice(model, voices.resolve(language + ".onnx.json"), speaker)) {
                        System.out.println("result voice " + language + " " + speaker + ": " + voice.getSampleRate() +
                                           " " + voice.getUsesESpeakPhonemes() + " " + voice.getUsesTashkeelModel());
                        for (String text : language.equals("ar") ? ARABIC : ENGLISH)
                            say(text + " by " + speaker, piper.textToAudio(voice, text));
                    }
            }
            var parts = new java.io.ByteArrayOutputStream();  // how many there are is a matter of time
            try (var voice = piper.loadVoice(voices.resolve("en-us.onnx"), voices.resolve("en-us.onnx.json"), 1)) {
                piper.textToAudio(voice, ENGLISH[1], sound -> {
                    for (short one : sound)
                        parts.writeBytes(new byte[] {(byte) one, (byte) (one >> 8)});
                });
            }
            short[] whole = new short[parts.size() / 2];
            java.nio.ByteBuffer.wrap(parts.toByteArray()).order(java.nio.ByteOrder.LITTLE_ENDIAN).asShortBuffer()
                .get(whole);
            say("in parts", whole);
            try {
                piper.loadVoice(voices.resolve("broken.onnx"), voices.resolve("en-us.onnx.json"));
                System.out.println("result a broken model: loads");
            } catch (Exception error) {
                System.out.println("result a broken model: " + error.getClass().getSimpleName());
            }
        }
    }
}
