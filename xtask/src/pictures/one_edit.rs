//! The picture of README: the program of `docs/ten-minutes.md` before and after its edit.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::Value;
use vectored_report::pictures::Anchor;
use vectored_report::words;

use super::draw::{Canvas, END};

/// The page with the edit.
const PAGE: &str = "docs/ten-minutes.md";

/// The saved results whose screens the page shows.
const RESULTS: &str = "crates/vectored-cli/tests/it/documented";

/// The name of the file, and the drawing.
pub fn picture() -> Result<(&'static str, String)> {
    let [advice, versus] = [saved("advise")?, saved("versus")?];
    let found = advice["findings"][0]["pattern"].as_str();
    let found = format!("vectored advise finds {}", found.context("no finding")?);
    let page = fs::read_to_string(crate::root().join(PAGE))?;
    let mut canvas = Canvas::new(184.0);
    canvas.text((0.0, 12.0), Anchor::Right, &found);
    canvas.text((0.0, 40.0), Anchor::Right, "one edit");
    for (mark, class, top) in [('-', "s1", 28.0), ('+', "s4", 48.0)] {
        let changed = format!("\n{mark}with ");
        let (_, line) = page.split_once(&changed).context(PAGE)?;
        let line = line.split(" as ").next().unwrap_or_default();
        canvas.shade((LEFT, END), (top, top + 18.0), class);
        let line = format!("{mark} {line}");
        canvas.text((LEFT + 6.0, top + 13.0), Anchor::Right, &line);
    }
    canvas.text((0.0, 88.0), Anchor::Right, "vectored versus proves");
    let [old, new] = [&versus["old"], &versus["new"][0]["side"]]
        .map(|side| side["calls"]["writes"]["high"].as_u64());
    let writes = old.zip(new).context("no counts")?;
    let figures = versus["new"][0]["figures"].as_array();
    let time = figures
        .and_then(|figures| figures.iter().find(|one| one["figure"] == "wall_ns"))
        .and_then(|time| time["old"].as_f64().zip(time["new"].as_f64()));
    let time = time.context("no times")?;
    let counted = (writes.0 as f64, writes.1 as f64);
    let counts = [writes.0, writes.1].map(words::grouped);
    bars(&mut canvas, 98.0, "writes", counted, &counts);
    let times = [time.0, time.1].map(words::time);
    bars(&mut canvas, 142.0, "time", time, &times);
    let [was, is] = counts;
    let [long, short] = times;
    let description = format!(
        "{found}. After one edit of the program, vectored versus counts {is} writes instead of {was}, and {short} instead of {long}."
    );
    let host = &versus["host"];
    let kernel = host["kernel"]
        .as_str()
        .and_then(|all| all.split('-').next());
    let source = format!(
        "{}, {} CPUs, Linux {}, {}",
        host["cpu"]["model"].as_str().context("no CPU")?,
        host["cpu"]["allowed_cpus"].as_array().map_or(0, Vec::len),
        kernel.context("no kernel")?,
        versus["started_at"]
            .as_str()
            .context("no date")?
            .split('T')
            .next()
            .unwrap_or_default()
    );
    let picture = canvas.file_of("A program before and after one edit", &description, &source);
    Ok(("one-edit.svg", picture))
}

/// The left end of edits and bars.
const LEFT: f64 = 68.0;

fn saved(name: &str) -> Result<Value> {
    let path = crate::root().join(format!("{RESULTS}/{name}.json"));
    let text = fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
    Ok(serde_json::from_str(&text)?)
}

/// Two bars, one below the other, with their figures.
fn bars(canvas: &mut Canvas, top: f64, name: &str, (old, new): (f64, f64), words: &[String; 2]) {
    canvas.text((0.0, top + 22.0), Anchor::Right, name);
    let most = old.max(new);
    for (value, words, class, top) in [
        (old, &words[0], "s1", top),
        (new, &words[1], "s4", top + 20.0),
    ] {
        let end = LEFT + (END - 64.0 - LEFT) * value / most;
        canvas.area((LEFT, end), (top, top + 17.0), class);
        canvas.text((end + 6.0, top + 13.0), Anchor::Right, words);
    }
}
