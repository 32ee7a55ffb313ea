//! Writes a header, the chunks of a body and a trailer as one list.
//!
//! ```text
//! cargo run -p vectored --example gather                # to standard output
//! cargo run -p vectored --example gather -- page.html   # to a file
//! ```

use std::error::Error;
use std::fs::File;
use std::io::{self, IoSlice};

use vectored::cost::TargetKind;
use vectored::{CostModel, Gather, TransferError};

fn main() -> Result<(), Box<dyn Error>> {
    let header = [
        "<!doctype html>\n",
        "<title>",
        "A list",
        "</title>\n",
        "<ol>\n",
    ];
    let body: Vec<String> = (1..=20)
        .map(|i| format!("<li>{}</li>\n", "item ".repeat(i * 20)))
        .collect();
    let trailer = ["</ol>\n"];

    // The list refers to the parts, so making the list copies no byte.
    let parts = header
        .into_iter()
        .chain(body.iter().map(String::as_str))
        .chain(trailer);
    let segments: Vec<IoSlice<'_>> = parts.map(|part| IoSlice::new(part.as_bytes())).collect();

    let (name, result) = match std::env::args_os().nth(1) {
        Some(path) => {
            let file = File::create(&path)?;
            let mut gather = Gather::with_model(CostModel::for_target(TargetKind::File));
            (
                path.to_string_lossy().into_owned(),
                gather.write_all(&file, &segments),
            )
        }
        // The write to the descriptor bypasses the buffer of `Stdout`. The buffer is empty, because nothing was
        // printed.
        None => (
            "standard output".to_string(),
            Gather::default().write_all(io::stdout(), &segments),
        ),
    };
    report(&name, segments.len(), result)
}

fn report(
    name: &str,
    segment_count: usize,
    result: Result<u64, TransferError>,
) -> Result<(), Box<dyn Error>> {
    match result {
        Ok(bytes) => eprintln!("wrote {bytes} bytes in {segment_count} segments to {name}"),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(error) => return Err(format!("writing to {name} failed {error}").into()),
    }
    Ok(())
}
