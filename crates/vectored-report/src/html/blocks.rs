//! The content of a page.

use maud::{Markup, html};

use crate::document::{
    Align, Block, Cell, Choices, Column, Item, Map, Maps, Role, Sentence, Square, Table, Tone,
};
use crate::html::curves::{self, series};

/// Tables with more columns become lists on a narrow screen.
const FEW_COLUMNS: usize = 3;

/// Names of at most this many letters are not broken.
const SHORT_NAME: usize = 24;

/// Blocks below each other; neighbours of one kind that belong together are in one list.
pub(super) fn blocks(blocks: &[Block]) -> Markup {
    html! {
        @for group in blocks.chunk_by(|one, other| is_list(one) && kind(one) == kind(other)) {
            @match &group[0] {
                Block::Sentence(_) => ul.answer { @for of in group { (block(of)) } },
                Block::Note(_) => ul.notes { @for of in group { (block(of)) } },
                Block::Item(_) => ol.findings { @for of in group { (block(of)) } },
                of => (block(of)),
            }
        }
    }
}

fn block(block: &Block) -> Markup {
    match block {
        Block::Sentence(of) => sentence(of),
        Block::Note(note) => html! { li { (note) } },
        Block::Item(of) => item(of),
        Block::Maps(of) => maps(of),
        Block::Table(of) => table(of),
        Block::Chart(of) => curves::figure(of),
    }
}

fn is_list(block: &Block) -> bool {
    matches!(block, Block::Sentence(_) | Block::Note(_) | Block::Item(_))
}

fn kind(block: &Block) -> std::mem::Discriminant<Block> {
    std::mem::discriminant(block)
}

fn sentence(sentence: &Sentence) -> Markup {
    let class = match sentence.tone {
        Tone::Plain => "plain",
        Tone::Strong => "strong",
        Tone::Warning => "warning",
        Tone::Quiet => "quiet",
    };
    html! {
        li class=(class) {
            @if !sentence.subject.is_empty() {
                b { (sentence.subject) } ": "
            }
            (sentence.text)
        }
    }
}

fn item(item: &Item) -> Markup {
    html! {
        li {
            h3 { (item.title) }
            @if !item.headline.is_empty() {
                p.headline { (item.headline) }
            }
            @for line in &item.lines {
                p { (line) }
            }
            @if let Some(choices) = &item.choices {
                p.language { (choices.label) }
                ul.choices {
                    @for text in &choices.texts {
                        li {
                            @for (is_code, part) in Choices::parts(text) {
                                @if is_code { code { (part) } } @else { (part) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A table that scrolls on its own.
fn region(title: &str, class: &str, heads: &Markup, rows: &Markup) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label=(title) {
            table class=(class) {
                @if !title.is_empty() { caption { span { (title) } } }
                thead { tr { (heads) } }
                tbody { (rows) }
            }
        }
    }
}

fn table(table: &Table) -> Markup {
    let is_wide = table.columns.len() > FEW_COLUMNS;
    let heads = html! {
        @for column in &table.columns {
            th scope="col" class=[class(column)] {
                @if !column.group.is_empty() { (column.group) br; }
                (column.head)
            }
        }
    };
    let rows = html! {
        @for row in &table.rows {
            tr {
                @for (index, (column, cell)) in std::iter::zip(&table.columns, row).enumerate() {
                    (table_cell(index, column, cell))
                }
            }
        }
    };
    let class = if is_wide { "figures listed" } else { "figures" };
    region(&table.title, class, &heads, &rows)
}

fn table_cell(index: usize, column: &Column, cell: &Cell) -> Markup {
    let role = match cell.role {
        Role::Plain => "",
        Role::Winner => " winner",
        Role::Tie => " tie",
        Role::Open => " open",
        Role::Loser => " loser",
    };
    let is_short = cell.text.chars().count() <= SHORT_NAME;
    let short = if is_short { " short" } else { "" };
    let name = class(column).unwrap_or("");
    let class = format!("{name}{role}{short}");
    let mark = column.mark(cell.role);
    let head = column.full_head();
    html! {
        @if index == 0 {
            th scope="row" class=(class.trim()) data-head=(head) { (cell.text) (mark) }
        } @else {
            td class=(class.trim()) data-head=(head) { (cell.text) (mark) }
        }
    }
}

fn class(column: &Column) -> Option<&'static str> {
    (column.align == Align::Left).then_some("name")
}

fn maps(of: &Maps) -> Markup {
    html! {
        @for one in &of.maps { (map(one)) }
        p.legend {
            @for key in &of.keys {
                span.key { b class=(series(key.series)) { (key.letter) } " " (key.name) } " "
            }
            span { (of.figures) " " (of.legend) }
        }
    }
}

fn map(map: &Map) -> Markup {
    let heads = html! {
        @for head in [&map.row_head].into_iter().chain(&map.heads) { th scope="col" { (head) } }
    };
    let rows = html! {
        @for row in &map.rows {
            tr {
                th scope="row" { (row.head) }
                @for of in &row.squares {
                    @match of {
                        Some(of) => (square(of)),
                        None => td.none { span aria-hidden="true" { "-" } span.aside { "not measured" } },
                    }
                }
            }
        }
    };
    region(&map.title, "map", &heads, &rows)
}

fn square(square: &Square) -> Markup {
    let role = match square.role {
        Role::Winner => "winner",
        Role::Tie => "tie",
        _ => "open",
    };
    let strength = format!("--strength:{:.2}", square.strength.clamp(0.0, 1.0));
    html! {
        td class={ (role) " " (series(square.series)) } style=(strength) {
            div.square title=[Some(&square.words).filter(|words| !words.is_empty())] {
                b { (square.letter) }
                " "
                span { (square.figure) }
            }
        }
    }
}
