// tests/clients/programs/rust/silero.rs - prints where silero-vad-rust hears speech in a sound made here.
use silero_vad_rust::silero_vad::model::{load_silero_vad_with_options, LoadOptions};
use silero_vad_rust::silero_vad::utils_vad::{VadEvent, VadIteratorParams, VadParameters};
use silero_vad_rust::{get_speech_timestamps, load_silero_vad, VadIterator};

include!("sound.rs");

fn main() -> anyhow::Result<()> {
    let sound = sound();
    for opset_version in [15, 16] {
        let mut model =
            load_silero_vad_with_options(LoadOptions { opset_version, ..Default::default() })?;
        let all = model.audio_forward(&sound, 16_000)?;
        print!("result opset {opset_version}:");
        for probability in all.iter().step_by(4) {
            print!(" {probability:.3}");
        }
        println!();
        for threshold in [0.05, 0.2] {
            let params = VadParameters {
                threshold,
                min_speech_duration_ms: 50,
                ..Default::default()
            };
            print!("result opset {opset_version} times at {threshold}: _");
            for part in get_speech_timestamps(&sound, &mut model, &params)? {
                print!(" {} {}", part.start, part.end);
            }
            println!();
        }
    }
    let half: Vec<f32> = sound.iter().step_by(2).copied().collect();
    let mut model = load_silero_vad()?;
    print!("result at 8 kHz:");
    for chunk in half.chunks_exact(256) {
        print!(" {:.3}", model.forward_chunk(chunk, 8_000)?[[0, 0]]);
    }
    println!();
    let params = VadIteratorParams { threshold: 0.1, ..Default::default() };
    let mut steps = VadIterator::new(load_silero_vad()?, params)?;
    print!("result step by step: _");
    for chunk in sound.chunks_exact(512) {
        match steps.process_chunk(chunk, false, 1)? {
            Some(VadEvent::Start(at)) => print!(" start {at}"),
            Some(VadEvent::End(at)) => print!(" end {at}"),
            None => {}
        }
    }
    println!();
    Ok(())
}
