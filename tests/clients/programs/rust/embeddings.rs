// tests/clients/programs/rust/embeddings.rs - prints vectors and ranks of texts that fastembed makes with small models.
// Argument: the folder of the models.
use fastembed::{
    InitOptionsUserDefined, OnnxSource, Pooling, RerankInitOptionsUserDefined, TextEmbedding, TextRerank, TokenizerFiles,
    UserDefinedEmbeddingModel, UserDefinedRerankingModel,
};
use std::path::{Path, PathBuf};

const TEXTS: [&str; 4] = ["the cat sat on the mat.", "who is my dog?", "the new york dog ran", "where"];

fn tokenizer(folder: &Path) -> anyhow::Result<TokenizerFiles> {
    let read = |name: &str| std::fs::read(folder.join(name));
    Ok(TokenizerFiles {
        tokenizer_file: read("tokenizer.json")?,
        config_file: read("config.json")?,
        special_tokens_map_file: read("special_tokens_map.json")?,
        tokenizer_config_file: read("tokenizer_config.json")?,
    })
}

fn show(name: &str, vectors: &[Vec<f32>]) {
    for (i, vector) in vectors.iter().enumerate() {
        print!("result {name}, text {i}:");
        for number in vector {
            print!(" {number:.4}");
        }
        println!();
    }
}

fn main() -> anyhow::Result<()> {
    let models = PathBuf::from(std::env::args().nth(1).expect("a folder"));
    let folder = models.join("feature-extraction");
    let whole = std::fs::read(folder.join("model.onnx"))?;
    for (name, pooling) in [("first", Pooling::Cls), ("mean", Pooling::Mean)] {
        let model = UserDefinedEmbeddingModel::new(whole.clone(), tokenizer(&folder)?).with_pooling(pooling);
        let mut embedding = TextEmbedding::try_new_from_user_defined(model, InitOptionsUserDefined::new())?;
        show(&format!("pooling {name}"), &embedding.embed(TEXTS, None)?);
        show(&format!("pooling {name}, batches of 1"), &embedding.embed(TEXTS, Some(1))?);
    }
    let outside = UserDefinedEmbeddingModel::new(std::fs::read(folder.join("outside.onnx"))?, tokenizer(&folder)?)
        .with_pooling(Pooling::Mean)
        .with_external_initializer("outside.bin".to_string(), std::fs::read(folder.join("outside.bin"))?);
    let mut embedding = TextEmbedding::try_new_from_user_defined(outside, InitOptionsUserDefined::new())?;
    show("weights from memory", &embedding.embed(TEXTS, None)?);
    let folder = models.join("reranking");
    for source in [
        OnnxSource::File(folder.join("model.onnx")),
        OnnxSource::Memory(std::fs::read(folder.join("model.onnx"))?),
    ] {
        let kind = if matches!(source, OnnxSource::File(_)) { "a file" } else { "memory" };
        let model = UserDefinedRerankingModel::new(source, tokenizer(&folder)?);
        let mut ranks = TextRerank::try_new_from_user_defined(model, RerankInitOptionsUserDefined::default())?;
        for found in ranks.rerank("who is the cat?", TEXTS, false, None)? {
            println!("result rank of text {} by {kind}: {:.4}", found.index, found.score);
        }
    }
    Ok(())
}
