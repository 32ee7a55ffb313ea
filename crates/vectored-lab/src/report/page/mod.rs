//! A self-contained HTML page: one file that loads nothing from the network.
//!
//! Answers, maps and tables are plain HTML, so that they work without scripts, in print and with a screen
//! reader. The script draws charts from the data at the end of the page (`data.rs`) with uPlot, which is
//! small, maintained, and has bands, logarithmic axes and a cursor. A content security policy at the top
//! prevents the page from loading anything.

mod advisory;
mod data;
mod environment;
mod escape;
mod experiments;
mod run;
mod tooltips;

use crate::model::Saved;
use crate::report::machines;
use crate::report::page::escape::{escape, in_script};
use crate::report::svg;
use crate::text::format;

const STYLE: &str = include_str!("../../../assets/page.css");
const SCRIPT: &str = include_str!("../../../assets/page.js");
const CHARTS: &str = include_str!("../../../assets/uplot-1.6.32.min.js");
const CHARTS_STYLE: &str = include_str!("../../../assets/uplot-1.6.32.min.css");
const CHARTS_LICENCE: &str = include_str!("../../../assets/uplot-LICENSE");

/// No content of the data can load, send, frame or submit anything.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";

/// Saved results as one HTML page: runs of `vectored measure`, of which one is shown at a time, then
/// experiments of `vectored reproduce`, then the advice of `vectored advise`.
///
/// Text from the results is always escaped.
///
/// # Examples
///
/// ```
/// let page = vectored_lab::report::html(&[]);
/// assert!(page.starts_with("<!doctype html>"));
/// ```
pub fn html(saved: &[&Saved]) -> String {
    let mut runs = Vec::new();
    let mut reproductions = Vec::new();
    let mut advisories = Vec::new();
    for one in saved {
        match one {
            Saved::Results(results) => runs.push(&**results),
            Saved::Experiments(experiments) => reproductions.push(&**experiments),
            Saved::Advisory(advisory) => advisories.push(&**advisory),
        }
    }
    // Advice alone compares no techniques.
    let only_advice = !advisories.is_empty() && runs.is_empty() && reproductions.is_empty();
    let heading = match only_advice {
        true => "Where would gathering help?",
        false => "Copy or gather?",
    };
    let mut page = head(&title(heading, saved), !only_advice);
    page += "<body>\n<a class=\"skip\" href=\"#main\">To the results</a>\n<header>\n";
    page += &format!("<h1>{heading}</h1>\n");
    page += "<button id=\"theme\" type=\"button\" class=\"needs-script\" hidden>Light or dark</button>\n</header>\n";
    page += "<main id=\"main\">\n";
    page += match only_advice {
        true => ADVICE,
        false => INTRODUCTION,
    };
    if runs.len() > 1 {
        page += "<section aria-labelledby=\"machines\">\n<h2 id=\"machines\">By machine</h2>\n";
        page += &crossover_chart(&runs);
        if let Some(grid) = machines::grid(&runs) {
            page += &experiments::table(&grid.title, &grid.heads, grid.names, &grid.rows, true);
        }
        page += "</section>\n";
        page += &choice(&runs);
    }
    for (index, results) in runs.iter().enumerate() {
        page += &run::section(index, results);
    }
    for experiments in reproductions {
        page += &experiments::section(experiments);
    }
    for (index, advisory) in advisories.into_iter().enumerate() {
        page += &advisory::section(index, advisory);
    }
    page += "</main>\n<footer>\n";
    let charts = if only_advice { "" } else { " Charts: uPlot." };
    page += &format!(
        "<p>Made by vectored {}. Every figure is in the saved JSON.{charts}</p>\n</footer>\n",
        env!("CARGO_PKG_VERSION")
    );
    if only_advice {
        return page + "</body>\n</html>\n";
    }
    let json = serde_json::to_string(&data::of(&runs)).expect("plain data");
    page += &format!(
        "<script type=\"application/json\" id=\"data\">{}</script>\n",
        in_script(&json)
    );
    // The licence requires its text in every copy.
    page += &format!("<script>\n/*\n{CHARTS_LICENCE}*/\n{CHARTS}\n</script>\n");
    page += &format!("<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    page
}

const INTRODUCTION: &str = "\
<p class=\"lead\">A program that has its bytes in several buffers can send each with a call of its \
own (<b>write-each</b>), copy them together first (<b>copy-then-write</b>), or hand them all to the \
kernel in one call (<b>writev</b>). Which takes the least time depends on the machine, the target, \
the number of pieces and their size. This page shows measurements.</p>
";

const ADVICE: &str = "\
<p class=\"lead\">Each system call has a cost. This page counts the calls of a program that could be merged \
into one, by gathering several buffers or by using a larger buffer, without changing its behaviour otherwise, and \
estimates the time saved on this machine.</p>
";

fn head(title: &str, has_charts: bool) -> String {
    let charts_style = if has_charts { CHARTS_STYLE } else { "" };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{charts_style}\n{STYLE}</style>\n\
         <noscript><style>[hidden]{{display:block!important}}.needs-script{{display:none!important}}\
         </style></noscript>\n</head>\n",
        escape(title)
    )
}

fn title(heading: &str, saved: &[&Saved]) -> String {
    let mut names: Vec<String> = saved
        .iter()
        .map(|one| format::escape_control(&one.host().name))
        .collect();
    names.dedup();
    names.truncate(3);
    match names.is_empty() {
        true => "vectored".to_owned(),
        false => format!("{heading} {}", names.join(", ")),
    }
}

/// The chart of crossovers by machine; empty if there are none.
fn crossover_chart(runs: &[&crate::model::Results]) -> String {
    svg::crossovers(&machines::groups(runs)).map_or(String::new(), |chart| {
        format!(
            "<figure class=\"drawn crossovers\"><figcaption>Copy below the mark, gather above; segment size, with its \
             95 % interval</figcaption><div class=\"wide\" tabindex=\"0\" role=\"region\" \
             aria-label=\"Crossovers\">{chart}</div></figure>\n"
        )
    })
}

fn choice(runs: &[&crate::model::Results]) -> String {
    let mut text =
        "<p class=\"choice needs-script\"><label for=\"run\">Result</label> <select id=\"run\">\n"
            .to_owned();
    for (index, results) in runs.iter().enumerate() {
        text += &format!(
            "<option value=\"{index}\">{}</option>\n",
            escape(&run::name(results))
        );
    }
    text + "</select></p>\n"
}
