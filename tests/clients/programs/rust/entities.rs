// tests/clients/programs/rust/entities.rs - prints what gline-rs finds in texts with models of random weights.
// usage: entities FOLDER, with tokenizer.json, span.onnx and token.onnx
use gliner::model::input::text::TextInput;
use gliner::model::output::decoded::SpanOutput;
use gliner::model::params::Parameters;
use gliner::model::pipeline::{span::SpanMode, token::TokenMode};
use gliner::model::GLiNER;
use gliner::util::result::Result;
use orp::params::RuntimeParameters;

const TEXTS: [&str; 4] = [
    "the quick brown fox jumps over the lazy dog",
    "hello world",
    "a text of one two three words and of words that nobody knows",
    "fox",
];

fn say(name: &str, found: SpanOutput) {
    for (at, spans) in found.spans.iter().enumerate() {
        print!("result {name}, text {at}: {}", spans.len());
        for span in spans {
            let (start, end) = span.offsets();
            print!(
                " {} {} {start} {end} {:.4}",
                span.text().replace(' ', "_"),
                span.class(),
                span.probability()
            );
        }
        println!();
    }
}

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).expect("the folder of models");
    let file = |name: &str| format!("{folder}/{name}");
    for threads in [1, 3] {
        for (flat, threshold) in [(true, 0.5), (false, 0.6)] {
            let parameters = || {
                Parameters::default()
                    .with_threshold(threshold)
                    .with_flat_ner(flat)
                    .with_max_width(4)
            };
            let runtime = || RuntimeParameters::default().with_threads(threads);
            for classes in [&["animal", "place", "word"][..], &["animal"][..]] {
                let name = format!("{threads} threads, flat {flat}, {} classes", classes.len());
                let model = GLiNER::<SpanMode>::new(
                    parameters(),
                    runtime(),
                    file("tokenizer.json"),
                    file("span.onnx"),
                )?;
                say(
                    &format!("spans, {name}"),
                    model.inference(TextInput::from_str(&TEXTS, classes)?)?,
                );
                let model = GLiNER::<TokenMode>::new(
                    parameters(),
                    runtime(),
                    file("tokenizer.json"),
                    file("token.onnx"),
                )?;
                say(
                    &format!("tokens, {name}"),
                    model.inference(TextInput::from_str(&TEXTS, classes)?)?,
                );
            }
        }
    }
    Ok(())
}
