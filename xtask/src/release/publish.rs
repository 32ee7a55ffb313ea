//! `cargo xtask publish`: all that publishing does, but for the upload.

use anyhow::{Context, Result};

use crate::commands::cargo_words;
use crate::root;

/// Packages the published crates; with `verify` also builds each from its package, which takes minutes. A warning of
/// cargo, for example of a field that crates.io would miss, fails as an error does.
pub fn run(verify: bool) -> Result<bool> {
    let words = "publish --workspace --dry-run --locked --allow-dirty";
    let mut command = cargo_words(words);
    command.current_dir(root());
    if !verify {
        command.arg("--no-verify");
    }
    let output = command.output().context("cannot start cargo publish")?;
    let text = String::from_utf8_lossy(&output.stderr);
    print!("{text}");
    let warnings = warnings(&text);
    for warning in &warnings {
        println!("   {warning}");
    }
    Ok(output.status.success() && warnings.is_empty())
}

/// The warnings of cargo but the one that nothing is uploaded.
fn warnings(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| line.starts_with("warning:"))
        .filter(|line| *line != "warning: aborting upload due to dry run")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_dry_run_is_no_warning() {
        let text = "   Uploading x\nwarning: aborting upload due to dry run\n";
        assert_eq!(warnings(text), Vec::<&str>::new());
        let text = format!("warning: manifest has no description\n{text}");
        assert_eq!(warnings(&text), ["warning: manifest has no description"]);
    }
}
