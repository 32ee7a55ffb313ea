//! The published experiments beside the measured ones.

use crate::model::Experiments;
use crate::report::experiments::{Sheet, notes, sheets, title};
use crate::report::page::escape::escape;
use crate::report::page::tooltips;
use crate::report::svg;
use crate::text::format;

/// The experiments of one run: findings, tables, charts and notes.
pub fn section(experiments: &Experiments) -> String {
    let mut text = format!(
        "<section class=\"experiments\">\n<h2>Published experiments, run here</h2>\n\
         <p class=\"machine\">{}. Measured {}.</p>\n",
        escape(&format::machine_of(&experiments.host)),
        escape(&experiments.started_at)
    );
    for experiment in &experiments.experiments {
        text += &format!("<h3>{}</h3>\n", escape(&title(experiment)));
        if !experiment.finding.is_empty() {
            text += &format!("<p class=\"finding\">{}</p>\n", escape(&experiment.finding));
        }
        if let Some(chart) = svg::experiment(experiment) {
            text += &chart;
        }
        for sheet in sheets(experiment) {
            let heads = heads_of(&sheet);
            text += &table(&title(experiment), &heads, sheet.names, &sheet.rows, false);
        }
        text += "<ul class=\"notes\">\n";
        for note in notes(experiment) {
            text += &format!("<li>{}</li>\n", escape(&note));
        }
        text += "</ul>\n";
    }
    for warning in &experiments.host.warnings {
        text += &format!("<p class=\"warning\">Warning: {}.</p>\n", escape(warning));
    }
    text + "</section>\n"
}

/// `here, seconds: user`, `here, seconds: system`: the name of the group precedes that of each of its
/// columns.
fn heads_of(sheet: &Sheet) -> Vec<String> {
    let mut group = "";
    let heads = sheet.heads.iter().map(|(begun, name)| {
        if !begun.is_empty() {
            group = begun;
        }
        match format!("{group} {name}").trim() {
            "" => "operation".to_owned(),
            // The group alone.
            head if head.ends_with(':') => format!("{head} operation"),
            head => head.to_owned(),
        }
    });
    heads.collect()
}

/// Names of at most this many characters are not broken.
const SHORT_NAME: usize = 24;

/// A table of texts. The first `names` columns are names, the others figures. A caption that repeats the
/// heading above it is for screen readers only.
pub fn table(
    caption: &str,
    heads: &[String],
    names: usize,
    rows: &[Vec<String>],
    is_seen: bool,
) -> String {
    let class = if is_seen { "" } else { " class=\"aside\"" };
    let mut text = format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table class=\"figures named\">\
         <caption{class}><span>{0}</span></caption>\n<thead><tr>",
        escape(caption)
    );
    for (index, head) in heads.iter().enumerate() {
        let class = if index < names { " class=\"name\"" } else { "" };
        text += &format!(
            "<th scope=\"col\"{class} title=\"{}\">{}</th>",
            escape(&tooltips::of(head)),
            // The name of the group is repeated over each of its columns.
            escape(head).replacen(": ", ":<br>", 1)
        );
    }
    text += "</tr></thead>\n<tbody>\n";
    for row in rows {
        text += "<tr>";
        for (index, cell) in row.iter().enumerate() {
            // Only a long name, such as a path, is broken.
            let is_short = cell.chars().count() <= SHORT_NAME;
            let short = if is_short { " short" } else { "" };
            text += &match index {
                0 => format!(
                    "<th scope=\"row\" class=\"name{short}\">{}</th>",
                    escape(cell)
                ),
                _ if index < names => format!("<td class=\"name{short}\">{}</td>", escape(cell)),
                _ => format!("<td>{}</td>", escape(cell)),
            };
        }
        text += "</tr>\n";
    }
    text + "</tbody></table></div>\n"
}
