//! Many machines: charts of crossovers, maps of winners, and tables.

use crate::model::{Machine, MachineCell, Verdict};
use crate::report::fleet::rows::{FleetRow, FleetSection, count_in_words, sections, shapes};
use crate::report::fleet::sheets::{NOTES, charts, sheets};
use crate::report::page::escape::escape;
use crate::report::page::experiments::table;
use crate::report::page::tooltips;
use crate::report::shape_text::shape_in_words;
use crate::report::svg;
use crate::report::table_rows::short_name;
use crate::text::format::{bytes_in_words, margin};

/// The heading of the page.
pub const HEADING: &str = "Copy or gather, by machine";

/// The page below its heading.
pub fn body(machines: &[Machine]) -> String {
    let mut text = format!(
        "<p class=\"lead\">{}. A program that has its bytes in several buffers can copy them together and write once, or \
         hand them all to the kernel in one call. Which takes less time depends on the size of the pieces, and the border \
         on the processor, the kernel, and where the bytes go.</p>\n",
        escape(&count_in_words(machines))
    );
    text += "<section aria-labelledby=\"crossovers\">\n<h2 id=\"crossovers\">Where gathering begins to pay</h2>\n";
    let charts = charts(machines);
    if charts.is_empty() {
        text += "<p>No result has a crossover from copying to gathering.</p>\n";
    }
    for (title, groups) in charts {
        if let Some(chart) = svg::crossovers(&groups) {
            text += &format!(
                "<figure class=\"drawn crossovers\"><figcaption>{}: copy below the mark, gather above; segment size, \
                 with its 95 % interval</figcaption><div class=\"wide\" tabindex=\"0\" role=\"region\" \
                 aria-label=\"{0}: crossovers\">{chart}</div></figure>\n",
                escape(&title)
            );
        }
    }
    text += "</section>\n<section aria-labelledby=\"winners\">\n<h2 id=\"winners\">The winner, by machine and size</h2>\n\
             <p class=\"hint\">Each square has the fastest technique, and how much longer the nearest rival takes. The \
             stronger the colour, the larger the difference; = is a tie within 2 %, ? is undecided.</p>\n";
    for section in sections(machines) {
        text += &maps(&section);
    }
    text +=
        "</section>\n<section aria-labelledby=\"tables\">\n<h2 id=\"tables\">All figures</h2>\n";
    for sheet in sheets(machines) {
        text += &table(&sheet.title, &sheet.heads, sheet.names, &sheet.rows, true);
    }
    text += "<h3>How to read this</h3>\n<ul class=\"notes\">\n";
    for note in NOTES {
        text += &format!("<li>{}</li>\n", escape(note));
    }
    text + "</ul>\n</section>\n"
}

/// A map for each shape of list: machines by size.
fn maps(section: &FleetSection<'_>) -> String {
    let mut text = String::new();
    for shape in shapes(&section.rows) {
        let is_here = |row: &&FleetRow<'_>| row.cells().any(|cell| cell.shape() == shape);
        let rows: Vec<&FleetRow<'_>> = section.rows.iter().filter(is_here).collect();
        let cells = rows.iter().flat_map(|row| row.cells());
        let of_shape = cells.filter(|cell| cell.shape() == shape);
        let mut sizes: Vec<usize> = of_shape.filter_map(MachineCell::swept_bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        text += &format!(
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{0}, {1}: winners\"><table class=\"map\">\
             <caption><span>{0}, {1}</span></caption>\n<thead><tr><th scope=\"col\" title=\"{2}\">machine</th>",
            escape(&section.title),
            escape(&shape_in_words(shape)),
            tooltips::MACHINE
        );
        for &bytes in &sizes {
            let size = bytes_in_words(bytes as u64);
            text += &format!(
                "<th scope=\"col\" title=\"{}\">{}</th>",
                escape(&tooltips::of_size(&size)),
                escape(&size)
            );
        }
        text += "</tr></thead>\n<tbody>\n";
        for row in rows {
            text += &format!("<tr><th scope=\"row\">{}</th>", escape(&row.label()));
            for &bytes in &sizes {
                let is_it = |cell: &&MachineCell| {
                    cell.shape() == shape && cell.swept_bytes() == Some(bytes)
                };
                text += &match row.cells().find(is_it) {
                    Some(cell) => square(cell),
                    None => "<td class=\"none\"><span class=\"aside\">not measured</span></td>"
                        .to_owned(),
                };
            }
            text += "</tr>\n";
        }
        text += "</tbody></table></div>\n";
    }
    text
}

fn square(cell: &MachineCell) -> String {
    let (ratio, words) = match cell.margin {
        Some([ratio, ..]) => (ratio, margin(ratio, None).0),
        None => (1.0, String::new()),
    };
    let name = cell.winner.map_or("none", |winner| winner.name());
    let (class, who, much) = match (cell.verdict, cell.winner) {
        (Verdict::Faster, Some(winner)) => ("faster", short_name(winner), words),
        (Verdict::Tie, _) => ("tie", "", "= tie".to_owned()),
        _ => ("open", "", format!("? {words}")),
    };
    // As in the map of one run.
    let strength = match class {
        "faster" if ratio > 1.0 => ratio.log2().clamp(0.0, 1.0).sqrt(),
        _ => 0.0,
    };
    format!(
        "<td class=\"{class} t-{name}\" style=\"--strength:{strength:.2}\"><div class=\"square\"><span class=\"who\">{}\
         </span> <span class=\"much\">{}</span></div></td>",
        escape(who),
        escape(much.trim_end())
    )
}
