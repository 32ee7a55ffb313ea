//! `cargo xtask deny`: licences, sources, duplicates and advisories of the dependencies, by cargo-deny.

use anyhow::Result;

use crate::commands::{cargo_words, succeeds, works};
use crate::skips::skip;

/// Runs the checks of `deny.toml`. Without cargo-deny they are skipped, and so is that of advisories if their database
/// cannot be fetched.
pub fn run() -> Result<bool> {
    if !works(&mut cargo_words("deny --version")) {
        let why = "cargo-deny is missing: cargo install --locked cargo-deny";
        skip("deny", why)?;
        return Ok(true);
    }
    let check = "deny --all-features --locked check --hide-inclusion-graph";
    let is_well = succeeds(&mut cargo_words(&format!("{check} bans licenses sources")))?;
    if !works(&mut cargo_words("deny fetch db")) {
        skip("deny: advisories", "their database cannot be fetched")?;
        return Ok(is_well);
    }
    Ok(succeeds(&mut cargo_words(&format!("{check} advisories")))? && is_well)
}
