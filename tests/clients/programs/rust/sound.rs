// tests/clients/programs/rust/sound.rs - three seconds of a vowel that comes and goes, at 16 kHz.
fn sound() -> Vec<f32> {
    let rate = 16_000.0f64;
    let mut phase = 0.0f64;
    (0..48_000)
        .map(|i| {
            let time = f64::from(i) / rate;
            let turn = 2.0 * std::f64::consts::PI;
            phase += turn * (130.0 + 10.0 * (turn * 4.0 * time).sin()) / rate;
            let voice: f64 = (1..35)
                .map(|k| {
                    let pitch = 130.0 * f64::from(k);
                    let loud: f64 = [(700.0, 90.0), (1200.0, 110.0), (2500.0, 150.0)]
                        .iter()
                        .map(|(middle, width): &(f64, f64)| (-((pitch - middle) / width).powi(2)).exp())
                        .sum();
                    (f64::from(k) * phase).sin() * loud
                })
                .sum();
            let hiss = f64::from((i * 7919) % 2003) / 2003.0 - 0.5;
            (voice * (turn * 3.0 * time).sin().max(0.0) * 0.15 + hiss * 0.004) as f32
        })
        .collect()
}
