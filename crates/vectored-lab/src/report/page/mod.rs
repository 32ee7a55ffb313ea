//! A self-contained HTML page: one file that loads nothing from the network.
//!
//! Answers, maps and tables are plain HTML, charts are SVG, and the page has no script. A content security
//! policy at the top prevents it from loading anything.

mod advisory;
mod environment;
pub(crate) mod escape;
mod experiments;
mod run;
mod tooltips;

use crate::model::Saved;
use crate::report::machines;
use crate::report::page::escape::escape;
use crate::report::svg;
use crate::text::format;

const STYLE: &str = include_str!("../../../assets/page.css");

/// No content of the data can load, send, frame or submit anything.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Saved results as one HTML page: runs of `vectored measure`, then experiments of `vectored reproduce`,
/// then the advice of `vectored advise`.
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
    let mut page = head(&title(heading, saved));
    page += "<body>\n<a class=\"skip\" href=\"#main\">To the results</a>\n<header>\n";
    page += &format!("<h1>{heading}</h1>\n</header>\n<main id=\"main\">\n");
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
        page += &contents(&runs);
    }
    for (index, results) in runs.iter().enumerate() {
        page += &run::section(index, results, runs.len() == 1);
    }
    for experiments in reproductions {
        page += &experiments::section(experiments);
    }
    for (index, advisory) in advisories.into_iter().enumerate() {
        page += &advisory::section(index, advisory);
    }
    page += "</main>\n<footer>\n";
    page + &format!(
        "<p>Made by vectored {}. Every figure is in the saved JSON.</p>\n</footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    )
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

fn head(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n",
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
    svg::crossover_chart::table(&machines::groups(runs)).map_or(String::new(), |chart| {
        format!(
            "<figure><figcaption>Copy below the mark, gather above; segment size, with its 95 % interval</figcaption>\
             {chart}</figure>\n"
        )
    })
}

/// Links to the runs.
fn contents(runs: &[&crate::model::Results]) -> String {
    let mut text = "<ul class=\"contents\">\n".to_owned();
    for (index, results) in runs.iter().enumerate() {
        text += &format!(
            "<li><a href=\"#run-{index}\">{}</a></li>\n",
            escape(&run::name(results))
        );
    }
    text + "</ul>\n"
}
