// tests/clients/programs/rust/first.rs - asks the crate onnxruntime 0.0.14, the first binding, for what it has.
// usage: first MODELS
use onnxruntime::{
    environment::Environment, ndarray, tensor::OrtOwnedTensor, AllocatorType,
    GraphOptimizationLevel, LoggingLevel, MemType, TypeToTensorElementDataType,
};
use std::fmt::{Debug, Display};

type Failure = Box<dyn std::error::Error>;

fn say<T: Display>(name: &str, values: impl IntoIterator<Item = T>) {
    let words: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    println!("result {name}: {}", words.join(" "));
}

/// The same numbers through a model that gives them back.
fn identity<T>(
    environment: &Environment,
    models: &str,
    name: &str,
    values: Vec<T>,
) -> Result<(), Failure>
where
    T: TypeToTensorElementDataType + Debug + Clone + Display + 'static,
{
    let mut session = environment
        .new_session_builder()?
        .with_model_from_file(format!("{models}/identity_{name}.onnx"))?;
    let input = ndarray::Array2::from_shape_vec((values.len() / 2, 2), values)?;
    let found: Vec<OrtOwnedTensor<T, _>> = session.run(vec![input])?;
    let shape = format!("{:?}", found[0].shape());
    say(
        name,
        [shape]
            .into_iter()
            .chain(found[0].iter().map(|value| value.to_string())),
    );
    Ok(())
}

fn linear(environment: &Environment, models: &str) -> Result<(), Failure> {
    let file = format!("{models}/linear.onnx");
    let x = ndarray::array![[1f32, 2., 3.], [4., 5., 6.]];
    for (name, level) in [
        ("disabled", GraphOptimizationLevel::DisableAll),
        ("basic", GraphOptimizationLevel::Basic),
        ("extended", GraphOptimizationLevel::Extended),
        ("all", GraphOptimizationLevel::All),
    ] {
        let mut session = environment
            .new_session_builder()?
            .with_optimization_level(level)?
            .with_number_threads(2)?
            .with_allocator(AllocatorType::Arena)?
            .with_memory_type(MemType::Default)?
            .with_model_from_file(&file)?;
        let found: Vec<OrtOwnedTensor<f32, _>> = session.run(vec![x.clone()])?;
        say(&format!("linear, {name}"), found[0].iter());
        say(
            &format!("softmax, {name}"),
            found[0].softmax(ndarray::Axis(1)).iter(),
        );
    }
    let mut session = environment
        .new_session_builder()?
        .with_model_from_memory(std::fs::read(&file)?)?;
    for one in session.inputs.iter() {
        let dimensions: Vec<_> = one.dimensions().collect();
        say(
            "input",
            [format!("{} {:?} {dimensions:?}", one.name, one.input_type)],
        );
    }
    for one in session.outputs.iter() {
        let dimensions: Vec<_> = one.dimensions().collect();
        say(
            "output",
            [format!("{} {:?} {dimensions:?}", one.name, one.output_type)],
        );
    }
    for rows in [1, 5, 2] {
        let x =
            ndarray::Array2::from_shape_fn((rows, 3), |(row, column)| (row * 3 + column) as f32);
        let found: Vec<OrtOwnedTensor<f32, _>> = session.run(vec![x])?;
        say(&format!("from memory, {rows} rows"), found[0].iter());
    }
    let fails = session
        .run::<f64, f32, _>(vec![ndarray::array![[1f64, 2., 3.]]])
        .is_err();
    say("a wrong type", [fails]);
    let fails = session
        .run::<f32, f32, _>(vec![ndarray::array![[1f32, 2.]]])
        .is_err();
    say("a wrong shape", [fails]);
    Ok(())
}

fn main() -> Result<(), Failure> {
    let models = std::env::args().nth(1).expect("the folder of models");
    let environment = Environment::builder()
        .with_name("words")
        .with_log_level(LoggingLevel::Error)
        .build()?;
    say("environment", [environment.name()]);
    identity(&environment, &models, "float32", vec![1f32, -2.5, 3e30, 0.])?;
    identity(
        &environment,
        &models,
        "float64",
        vec![1f64, -2.5, 3e300, 0.],
    )?;
    identity(&environment, &models, "int8", vec![-128i8, 127, 0, 1])?;
    identity(&environment, &models, "uint8", vec![255u8, 127, 0, 1])?;
    identity(&environment, &models, "int16", vec![-32768i16, 32767, 0, 1])?;
    identity(&environment, &models, "uint16", vec![65535u16, 127, 0, 1])?;
    identity(
        &environment,
        &models,
        "int32",
        vec![i32::MIN, i32::MAX, 0, 1],
    )?;
    identity(&environment, &models, "uint32", vec![u32::MAX, 127, 0, 1])?;
    identity(
        &environment,
        &models,
        "int64",
        vec![i64::MIN, i64::MAX, 0, 1],
    )?;
    identity(&environment, &models, "uint64", vec![u64::MAX, 127, 0, 1])?;
    linear(&environment, &models)?;
    for name in ["broken", "absent", "custom_op"] {
        let opened = environment
            .new_session_builder()?
            .with_model_from_file(format!("{models}/{name}.onnx"));
        say(&format!("opening {name}"), [opened.is_err()]);
    }
    let mut session = environment
        .new_session_builder()?
        .with_model_from_file(format!("{models}/two_of_two.onnx"))?;
    let inputs = vec![ndarray::array![1f32, 2.], ndarray::array![3f32, 4.]];
    let found: Vec<OrtOwnedTensor<f32, _>> = session.run(inputs)?;
    say("two outputs", found.iter().flat_map(|one| one.iter()));
    Ok(())
}
