//! `cargo xtask pictures`: draws the pictures of the documentation from `docs/pictures/data.json` and from saved results.

mod data;
mod draw;
mod one_edit;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use vectored_results::model::TechniqueName;

use data::Data;

const DATA: &str = "docs/pictures/data.json";

/// The options of the pictures.
#[derive(clap::Args)]
pub struct Options {
    /// Measures and counts their data anew first, by this many rounds a list, on an idle machine; needs
    /// strace
    #[arg(long, value_name = "ROUNDS")]
    measure: Option<u32>,
    /// Writes the list whose calls are counted, by a technique, to a file
    #[arg(long, hide = true, num_args = 2, value_names = ["TECHNIQUE", "FILE"])]
    write_list: Vec<String>,
}

/// Draws them, or writes the list.
pub fn run(options: &Options) -> Result<()> {
    if let [technique, path] = &options.write_list[..] {
        let technique: TechniqueName = serde_json::from_value(technique.as_str().into())?;
        return data::write_list(technique, &PathBuf::from(path));
    }
    let path = crate::root().join(DATA);
    if let Some(rounds) = options.measure {
        let command = format!("cargo xtask pictures --measure {rounds}");
        let data = data::measure(rounds, command)?;
        std::fs::write(&path, serde_json::to_string(&data)? + "\n")?;
    }
    for (name, svg) in all()? {
        std::fs::write(path.with_file_name(name), svg)?;
    }
    Ok(())
}

/// The names and contents of all files.
fn all() -> Result<Vec<(&'static str, String)>> {
    let mut all = draw::all(&load()?).to_vec();
    all.push(one_edit::picture()?);
    Ok(all)
}

fn load() -> Result<Data> {
    let text = std::fs::read_to_string(crate::root().join(DATA)).context(DATA)?;
    serde_json::from_str(&text).context(DATA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pictures_are_those_that_the_data_give() {
        for (name, svg) in all().unwrap() {
            let path = crate::root().join(DATA).with_file_name(name);
            let drawn = std::fs::read_to_string(path).unwrap();
            assert!(
                drawn == svg,
                "docs/pictures/{name} is old: cargo xtask pictures"
            );
        }
    }
}
