// tests/clients/programs/rust/detector.rs - prints what voice_activity_detector hears in a sound made here.
use voice_activity_detector::{IteratorExt, LabeledAudio, VoiceActivityDetector};

include!("sound.rs");

fn main() -> Result<(), voice_activity_detector::Error> {
    let sound = sound();
    for (rate, size) in [(16_000, 512usize), (16_000, 768), (8_000, 256)] {
        let samples: Vec<f32> = sound.iter().step_by((16_000 / rate) as usize).copied().collect();
        let mut detector =
            VoiceActivityDetector::builder().sample_rate(rate).chunk_size(size).build()?;
        print!("result {rate} Hz by {size}:");
        for (_, probability) in samples.iter().copied().predict(&mut detector) {
            print!(" {probability:.3}");
        }
        println!();
        detector.reset();
        print!("result {rate} Hz by {size}, labels: ");
        for label in samples.into_iter().label(&mut detector, 0.1, 1) {
            print!("{}", if matches!(label, LabeledAudio::Speech(_)) { '1' } else { '0' });
        }
        println!();
    }
    Ok(())
}
