// tests/clients/programs/rust/types.rs - prints of what type magika takes files and texts to be. Arguments: the files.
fn main() {
    let mut session = magika::Session::builder()
        .with_intra_threads(1)
        .with_inter_threads(1)
        .with_parallel_execution(false)
        .build()
        .unwrap();
    for path in std::env::args().skip(1) {
        let found = session.identify_file_sync(&path).unwrap();
        println!("result {path}: {} {:.3}", found.info().label, found.score());
    }
    let texts: [&str; 6] = [
        "#include <stdio.h>\nint main(void) {\n  printf(\"%d\\n\", 42);\n  return 0;\n}\n",
        "def answer(question):\n    import os\n    return {len(question): os.getcwd()}\n\nprint(answer('x'))\n",
        "{\"name\": \"value\", \"list\": [1, 2, 3, {\"deep\": null}], \"truth\": false}\n",
        "<!DOCTYPE html><html><head><title>x</title></head><body><p>words</p></body></html>\n",
        "SELECT name, count(*) FROM people WHERE age > 30 GROUP BY name ORDER BY 2 DESC;\n",
        "It was a dark night, and nobody in the house could say where the noise came from.\n",
    ];
    for (i, text) in texts.iter().enumerate() {
        let found = session.identify_content_sync(text.as_bytes()).unwrap();
        println!("result text {i}: {} {:.3}", found.info().label, found.score());
    }
}
