//! `cargo xtask release-notes`: a version's section of the changelog.

use std::fs;

use anyhow::{Context, Result};

use crate::root;

/// Prints the section of a version.
pub fn run(version: &str) -> Result<()> {
    let changelog = fs::read_to_string(root().join("CHANGELOG.md"))?;
    let section = section(&changelog, version).with_context(|| {
        let versions: Vec<&str> = headings(&changelog).collect();
        format!(
            "CHANGELOG.md has no section '{version}'; its sections are {}",
            versions.join(", ")
        )
    })?;
    print!("{section}");
    Ok(())
}

fn headings(changelog: &str) -> impl Iterator<Item = &str> {
    changelog
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
}

/// The lines below the heading, which is the version alone or with a date behind it, up to the next one.
fn section(changelog: &str, version: &str) -> Option<String> {
    let is_wanted = |line: &str| {
        let heading = line.strip_prefix("## ")?;
        let first = heading.split(' ').next()?;
        Some(first.trim_matches(['[', ']']) == version)
    };
    let lines = changelog.lines();
    let mut lines = lines.skip_while(|line| is_wanted(line) != Some(true));
    lines.next()?;
    let lines = lines.take_while(|line| !line.starts_with("## "));
    let text = lines.collect::<Vec<_>>().join("\n");
    Some(format!("{}\n", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGELOG: &str = "# Changelog\n\n## Unreleased\n\n- new\n\n### More\n\n- x\n\n## [0.2.0] - 2027-01-02\n\n- b\n\n## 0.1.0\n\n- a\n";

    #[test]
    fn a_section_ends_at_the_next_version() {
        let section = |version| section(CHANGELOG, version);
        assert_eq!(section("Unreleased").unwrap(), "- new\n\n### More\n\n- x\n");
        assert_eq!(section("0.2.0").unwrap(), "- b\n");
        assert_eq!(section("0.1.0").unwrap(), "- a\n");
        assert_eq!(section("0.1"), None);
        assert_eq!(section("More"), None);
    }
}
