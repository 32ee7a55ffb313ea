//! An advisory in a page: the answer, a card for each finding, what is not counted.

use crate::model::Advisory;
use crate::report::advisory::{Facts, Item, Listed, Used, facts};
use crate::report::page::escape::escape;
use crate::report::page::experiments::table;

/// Findings of an advisory that the page shows; the JSON has all.
const MOST: usize = 100;

/// The section of an advisory; `index` is its number in the page.
pub fn section(index: usize, advisory: &Advisory) -> String {
    let facts = facts(advisory, MOST);
    let mut text = format!(
        "<section class=\"advisory\" aria-labelledby=\"advisory-{index}\">\n\
         <h2 id=\"advisory-{index}\">Where gathering would help: {}</h2>\n\
         <p class=\"finding\">{}</p>\n<p class=\"machine\">{} Analysed at {}.</p>\n",
        escape(&advisory.sources.join(", ")),
        escape(&facts.answer),
        escape(&facts.extent),
        escape(&advisory.started_at)
    );
    if !facts.items.is_empty() {
        text += "<ol class=\"findings\">\n";
        for item in &facts.items {
            text += &card(item, facts.share_of);
        }
        text += "</ol>\n";
    }
    if let Some(more) = &facts.more {
        text += &format!("<p>{}</p>\n", escape(more));
    }
    text += &listed(&facts);
    text += &uses(&facts);
    text += "<ul class=\"notes\">\n";
    for note in &facts.notes {
        text += &format!("<li>{}</li>\n", escape(note));
    }
    text + "</ul>\n</section>\n"
}

fn card(item: &Item, share_of: &str) -> String {
    let share = match &item.share {
        Some(share) => format!(", {} of {share_of}", escape(share)),
        None => String::new(),
    };
    let mut text = format!(
        "<li>\n<h3>{}</h3>\n<p class=\"saves\"><span class=\"bar\" aria-hidden=\"true\">\
         <span style=\"width:{:.1}%\"></span></span> saves <b>{}</b> {}{share}</p>\n\
         <p>{}</p>\n<p class=\"tally\">{}; {}</p>\n",
        escape(&item.pattern),
        item.part * 100.0,
        escape(&item.saving),
        escape(&item.interval),
        escape(&item.action),
        escape(&item.location),
        escape(item.grade)
    );
    if let Some(site) = &item.site {
        text += &format!("<p class=\"tally\">called from {}</p>\n", escape(site));
    }
    if let Some((language, idiom)) = item.remedy {
        text += &format!(
            "<dl class=\"idioms\"><dt>{}</dt><dd>{}</dd></dl>\n",
            escape(language),
            escape(idiom)
        );
    }
    text + "</li>\n"
}

fn listed(facts: &Facts) -> String {
    if facts.listed.is_empty() {
        return String::new();
    }
    let heads = ["pattern", "why", "where"].map(str::to_owned);
    let row = |listed: &Listed| {
        vec![
            listed.pattern.clone(),
            listed.reason.clone(),
            listed.location.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = facts.listed.iter().map(row).collect();
    let mut text = "<h3>Not counted</h3>\n<p>Merging these could change what the program does, or \
                    it is not known what lies between them.</p>\n<div class=\"texts\">\n"
        .to_owned();
    text += &table("Not counted", &heads, heads.len(), &rows, false);
    text += "</div>\n";
    if let Some(more) = &facts.more_listed {
        text += &format!("<p>{}</p>\n", escape(more));
    }
    text
}

fn uses(facts: &Facts) -> String {
    if facts.uses.is_empty() {
        return String::new();
    }
    const TITLE: &str = "Files and descriptors with the most calls";
    let heads = ["calls", "where", "counted or why not"].map(str::to_owned);
    let row = |one: &Used| vec![one.calls.clone(), one.location.clone(), one.counted.clone()];
    let rows: Vec<Vec<String>> = facts.uses.iter().map(row).collect();
    let mut text = format!("<h3>{TITLE}</h3>\n<div class=\"texts\">\n");
    text += &table(TITLE, &heads, heads.len(), &rows, false);
    text += "</div>\n";
    if let Some(more) = &facts.more_uses {
        text += &format!("<p>{}</p>\n", escape(more));
    }
    text
}
