//! The published experiments, beside ours.

use super::escape::escape;
use crate::model::Experiments;
use crate::report::experiments::{notes, sheets, title};
use crate::report::svg;
use crate::report::words;

/// The experiments of one run: of each the finding, its tables, a chart, notes.
pub fn section(experiments: &Experiments) -> String {
    let mut text = format!(
        "<section class=\"experiments\">\n<h2>Published experiments, run here</h2>\n\
         <p class=\"machine\">{}. Measured {}.</p>\n",
        escape(&words::machine_of(&experiments.host)),
        escape(&experiments.started_at)
    );
    for experiment in &experiments.experiments {
        text += &format!("<h3>{}</h3>\n", escape(&title(experiment)));
        if !experiment.finding.is_empty() {
            text += &format!("<p class=\"finding\">{}</p>\n", escape(&experiment.finding));
        }
        if let Some(chart) = svg::experiment(experiment) {
            text += &format!("<figure class=\"drawn\">{chart}</figure>\n");
        }
        for sheet in sheets(experiment) {
            let heads: Vec<String> = sheet
                .heads
                .iter()
                .map(|(group, name)| format!("{group} {name}").trim().to_owned())
                .collect();
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

/// A table of texts. The first `names` columns are names, the others figures.
/// Where the caption stands above it already it is only read aloud.
pub fn table(
    caption: &str,
    heads: &[String],
    names: usize,
    rows: &[Vec<String>],
    is_seen: bool,
) -> String {
    let class = if is_seen { "" } else { " class=\"aside\"" };
    let mut text = format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table class=\"figures\">\
         <caption{class}>{0}</caption>\n<thead><tr>",
        escape(caption)
    );
    for (index, head) in heads.iter().enumerate() {
        let class = if index < names { " class=\"name\"" } else { "" };
        text += &format!("<th scope=\"col\"{class}>{}</th>", escape(head));
    }
    text += "</tr></thead>\n<tbody>\n";
    for row in rows {
        text += "<tr>";
        for (index, cell) in row.iter().enumerate() {
            text += &match index {
                0 => format!("<th scope=\"row\">{}</th>", escape(cell)),
                _ if index < names => format!("<td class=\"name\">{}</td>", escape(cell)),
                _ => format!("<td>{}</td>", escape(cell)),
            };
        }
        text += "</tr>\n";
    }
    text + "</tbody></table></div>\n"
}
