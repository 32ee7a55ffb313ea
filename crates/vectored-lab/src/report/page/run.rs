//! One run: the answer, then the map, charts and figures of each target.

use crate::model::{Results, TechniqueName, Verdict};
use crate::report::asynchronous;
use crate::report::costs::costs;
use crate::report::notes::notes;
use crate::report::page::environment;
use crate::report::page::escape::escape;
use crate::report::page::experiments::table;
use crate::report::page::tooltips;
use crate::report::panels::{Panel, Square, panels};
use crate::report::shape_text::shape_in_words;
use crate::report::svg;
use crate::report::table_rows::{Section, columns, extent, sections, short_name};
use crate::report::{ranks, writers};
use crate::text::format;
use crate::text::format::bytes_in_words;

/// `host, 2026-01-01T00:00:00Z, Linux 6.18`.
pub fn name(results: &Results) -> String {
    format!(
        "{}, {}, {}",
        format::escape_control(&results.host.name),
        format::escape_control(&results.started_at),
        format::system(&results.host)
    )
}

/// A whole run. Beside others its heading names it.
pub fn section(index: usize, results: &Results, is_alone: bool) -> String {
    let heading = match is_alone {
        true => "The answer".to_owned(),
        false => name(results),
    };
    let mut text = format!(
        "<section class=\"run\" id=\"run-{index}\">\n<h2>{}</h2>\n<p class=\"machine\">{}.<br>{}.</p>\n",
        escape(&heading),
        escape(&format::machine(results)),
        escape(&extent(results))
    );
    let sections = sections(results);
    text += &answer(&sections, results);
    // Both have the order of the section keys.
    for (panel, section) in std::iter::zip(&panels(results), &sections) {
        text += &panel_of(panel, section, results);
    }
    if let Some(costs) = costs(results) {
        text += &table(&costs.title, &costs.heads, costs.names, &costs.rows, true);
    }
    let grids = asynchronous::latencies(results).into_iter();
    for grid in grids
        .chain(writers::tables(results))
        .chain(ranks::tables(results))
    {
        text += &table(&grid.title, &grid.heads, grid.names, &grid.rows, true);
    }
    text += &environment::section(results);
    text += "<h3>How to read this</h3>\n<ul class=\"notes\">\n";
    for note in notes(results) {
        text += &format!("<li>{}</li>\n", escape(&note));
    }
    text + "</ul>\n</section>\n"
}

fn answer(sections: &[Section], results: &Results) -> String {
    let mut text = "<dl class=\"answer\">\n".to_owned();
    for section in sections {
        text += &format!("<dt>{}</dt>\n<dd>", escape(&section.title));
        if section.advice.is_empty() {
            let words = escape(&section.no_crossover);
            text += &format!("Crossover: {words}. The map below shows every cell.");
        }
        text += "<ul>\n";
        for (lists, advice) in &section.advice {
            text += &format!("<li><b>{}</b>: {}</li>\n", escape(lists), escape(advice));
        }
        text += &format!(
            "</ul><p class=\"tally\">{}</p></dd>\n",
            escape(&section.tally)
        );
    }
    let answers = asynchronous::answers(results).into_iter();
    let answers = answers.chain(writers::answers(results));
    let answers = answers.chain(ranks::answers(results));
    for (place, advice) in answers {
        text += &format!(
            "<dt>{}</dt>\n<dd><p>{}</p></dd>\n",
            escape(&place),
            escape(&advice)
        );
    }
    text + "</dl>\n"
}

fn panel_of(panel: &Panel<'_>, section: &Section, results: &Results) -> String {
    let mut text = format!("<h3>{}</h3>\n{}", escape(&panel.title), map(panel));
    let charts = panel.curves.iter();
    let charts: String = charts
        .filter_map(|curves| svg::curves(panel, curves))
        .collect();
    if !charts.is_empty() {
        text += &format!(
            "<p class=\"hint\">Bands are 95 % intervals. A vertical line is a crossover, its shade the interval. A \
             pointer over a point shows its value.</p>\n<div class=\"charts\">\n{charts}</div>\n"
        );
    }
    text + &figures(section, panel.has_tax, results)
}

fn map(panel: &Panel<'_>) -> String {
    let map = &panel.map;
    if map.shapes.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "<div class=\"wide\"><table class=\"map\"><caption><span>The winner on {}, and how much longer the \
         nearest rival takes. The stronger the colour, the larger the difference; = is a tie within 2 %, ? is \
         undecided.</span></caption>\n<thead><tr><th scope=\"col\" title=\"{}\">segments</th>",
        escape(&panel.title),
        tooltips::COUNT
    );
    for &bytes in &map.sizes {
        let size = bytes_in_words(bytes as u64);
        text += &format!(
            "<th scope=\"col\" title=\"{}\">{}</th>",
            escape(&tooltips::of_size(&size)),
            escape(&size)
        );
    }
    text += "</tr></thead>\n<tbody>\n";
    for (shape, squares) in std::iter::zip(&map.shapes, &map.squares) {
        let name = match shape.swept_mix {
            Some(_) => shape_in_words(*shape),
            None => shape.segment_count.to_string(),
        };
        text += &format!("<tr><th scope=\"row\">{}</th>", escape(&name));
        for square in squares {
            text += &match square {
                None => {
                    "<td class=\"none\"><span class=\"aside\">not measured</span></td>".to_owned()
                }
                Some(square) => square_of(square),
            };
        }
        text += "</tr>\n";
    }
    text + "</tbody></table></div>\n"
}

fn square_of(square: &Square<'_>) -> String {
    let name = square.technique.map_or("none", TechniqueName::as_str);
    let short = square.technique.map_or("none", short_name);
    let (class, sign, words) = match square.cell.verdict {
        Verdict::Faster => ("faster", "", square.margin.as_str()),
        Verdict::Tie => ("tie", "= ", "tie"),
        Verdict::Open => ("open", "? ", square.margin.as_str()),
    };
    format!(
        "<td class=\"{class} t-{name}\" style=\"--strength:{:.2}\"><div class=\"square\" title=\"{}\"><span \
         class=\"who\">{}</span> <span class=\"much\">{sign}{}</span></div></td>",
        square.strength(),
        escape(&format!("{}: {}", square.list(), square.words)),
        escape(if class == "tie" { "" } else { short }),
        escape(words)
    )
}

fn figures(section: &Section, has_tax: bool, results: &Results) -> String {
    let columns = columns(results);
    let mut text = format!(
        "<details open><summary>All figures of {}</summary>\n<div class=\"wide\" tabindex=\"0\" \
         role=\"region\" aria-label=\"All figures of {0}\"><table class=\"figures\">\n<thead><tr>\
         <th scope=\"col\" title=\"{}\">segments</th><th scope=\"col\" title=\"{}\">floor</th>",
        escape(&section.title),
        tooltips::LIST,
        tooltips::FLOOR
    );
    for technique in &columns {
        let is_rival = results.rivals.contains(technique);
        let unranked = if is_rival { "" } else { "unranked: " };
        let title = tooltips::of_technique(*technique, has_tax, is_rival);
        text += &format!("<th scope=\"col\" title=\"{title}\">{unranked}{technique}</th>");
    }
    text += &format!(
        "<th scope=\"col\" class=\"name\" title=\"{}\">verdict</th></tr></thead>\n<tbody>\n",
        tooltips::VERDICT
    );
    for row in &section.rows {
        let list = match row.count.as_str() {
            "" => row.size.clone(),
            count => format!("{count} × {}", row.size),
        };
        text += &format!(
            "<tr><th scope=\"row\">{} {}</th><td>{}</td>",
            escape(&list),
            row.marks(),
            escape(&row.floor)
        );
        for entry in &row.entries {
            text += &format!("<td>{}{}</td>", escape(&entry.tax), entry.mark.sign());
        }
        let interval = row.interval.as_deref().unwrap_or_default();
        let words = format!("{} {interval}", row.words);
        text += &format!(
            "<td class=\"name\">{}</td></tr>\n",
            escape(words.trim_end())
        );
    }
    text + "</tbody></table></div></details>\n"
}
