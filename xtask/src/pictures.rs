//! `cargo xtask pictures`: puts the figures of saved results into the picture of README.
//!
//! The template has `@NAME@` in place of each figure. The other pictures of `docs/pictures/` show figures that were measured
//! once, on the machine and the day that they name.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::Value;
use vectored_report::words;

use crate::root;
use crate::sources::read;

const TEMPLATE: &str = "xtask/pictures/one-edit.svg";

/// The page with the edit.
const PAGE: &str = "docs/ten-minutes.md";

/// The saved results whose screens the page shows.
const RESULTS: &str = "crates/vectored-cli/tests/it/documented";

/// The length of the longest bar, in pixels.
const LONGEST: f64 = 236.0;

/// Writes the picture.
pub fn run() -> Result<()> {
    Ok(std::fs::write(path(), one_edit()?)?)
}

fn path() -> PathBuf {
    root().join("docs/pictures/one-edit.svg")
}

fn one_edit() -> Result<String> {
    let saved = |name| -> Result<Value> {
        let text = read(&root().join(format!("{RESULTS}/{name}.json")))?;
        Ok(serde_json::from_str(&text)?)
    };
    let [advice, versus] = [saved("advise")?, saved("versus")?];
    let page = read(&root().join(PAGE))?;
    let edit = |mark| {
        let line = page.split_once(&format!("\n{mark}with "))?.1;
        line.split(" as ").next()
    };
    let found = advice["findings"][0]["pattern"].as_str();
    let found = format!("vectored advise finds {}", found.context("no finding")?);
    let mut picture = read(&root().join(TEMPLATE))?;
    let mut put = |name: &str, text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        picture = picture.replace(&format!("@{name}@"), &text);
    };
    put("found", &found);
    put("old_line", edit('-').context(PAGE)?);
    put("new_line", edit('+').context(PAGE)?);
    let new = &versus["new"][0];
    let writes = [&versus["old"], &new["side"]].map(|side| &side["calls"]["writes"]["high"]);
    let figures = new["figures"].as_array().context("no figures")?;
    let time = figures.iter().find(|figure| figure["figure"] == "wall_ns");
    let time = time.context("no times")?;
    let pairs = [("writes", writes), ("time", [&time["old"], &time["new"]])];
    for (name, pair) in pairs {
        let pair = pair.map(|value| value.as_f64().unwrap_or_default());
        for (side, value) in std::iter::zip(["old", "new"], pair) {
            let shown = match name {
                "time" => words::time(value),
                _ => words::grouped(value as u64),
            };
            put(&format!("{side}_{name}"), &shown);
            let width = LONGEST * value / pair[0].max(pair[1]);
            put(&format!("{side}_{name}_width"), &format!("{width:.1}"));
        }
    }
    let word = |value: &Value, end| {
        let text = value.as_str().unwrap_or_default();
        text.split(end).next().unwrap_or_default().to_owned()
    };
    let host = &versus["host"];
    let cpus = host["cpu"]["allowed_cpus"].as_array().map_or(0, Vec::len);
    let cpu = host["cpu"]["model"].as_str().context("no CPU")?;
    let (kernel, date) = (word(&host["kernel"], '-'), word(&versus["started_at"], 'T'));
    put(
        "source",
        &format!("{cpu}, {cpus} CPUs, Linux {kernel}, {date}"),
    );
    Ok(picture)
}

#[test]
fn the_picture_has_the_figures_of_the_saved_results() {
    let drawn = std::fs::read_to_string(path()).unwrap();
    // The remaining one is of `@media`.
    let is_present = drawn == one_edit().unwrap() && drawn.matches('@').count() == 1;
    assert!(is_present, "the picture is old: cargo xtask pictures");
}
