//! A document in Markdown, as GitHub and CommonMark read it.

use crate::document::{Align, Block, Choices, Document, Item, Map, Sentence, Table, Tone};

/// A document in Markdown: title, answer, body and sections. Charts are left out.
pub fn markdown(document: &Document) -> String {
    let mut text = String::new();
    if !document.title.is_empty() {
        text += &format!("# {}\n", escaped(&document.title));
    }
    blocks(&document.answer_first(), &mut text);
    blocks(&document.body, &mut text);
    for section in &document.sections {
        gap(&mut text);
        text += &format!("## {}\n", escaped(&section.title));
        blocks(&section.blocks, &mut text);
    }
    text
}

fn blocks(blocks: &[Block], text: &mut String) {
    let mut number = 0;
    let mut in_list = false;
    for block in blocks {
        let lists = matches!(block, Block::Note(_))
            || matches!(block, Block::Sentence(sentence) if !sentence.subject.is_empty());
        if !(lists && in_list) {
            gap(text);
        }
        in_list = lists;
        match block {
            Block::Sentence(of) => *text += &sentence(of),
            Block::Note(note) => *text += &format!("- {}\n", escaped(note)),
            Block::Item(of) => {
                number += 1;
                *text += &item(number, of);
            }
            Block::Table(of) => *text += &table(of),
            Block::Maps(of) => {
                for one in &of.maps {
                    gap(text);
                    *text += &format!("{}\n{}\n", map(one), escaped(&of.legend_in_words(true)));
                }
            }
            Block::Chart(_) => {}
        }
    }
}

/// Adds an empty line, unless the text is empty or ends with an empty line.
fn gap(text: &mut String) {
    if !text.is_empty() && !text.ends_with("\n\n") {
        text.push('\n');
    }
}

fn sentence(sentence: &Sentence) -> String {
    let text = escaped(&sentence.text);
    match (&*sentence.subject, sentence.tone) {
        ("", Tone::Strong) => format!("**{text}**\n"),
        ("", Tone::Warning) => format!("> {text}\n"),
        ("", Tone::Plain | Tone::Quiet) => format!("{text}\n"),
        (subject, _) => format!("- **{}**: {text}\n", escaped(subject)),
    }
}

fn item(number: usize, item: &Item) -> String {
    let mut text = format!("{number}. **{}**\n", escaped(&item.title));
    let indent = " ".repeat(format!("{number}. ").len());
    let headline = [&item.headline].into_iter().filter(|line| !line.is_empty());
    for line in headline.chain(&item.lines) {
        // Without the backslash the lines would become one paragraph.
        text.insert(text.len() - 1, '\\');
        text += &format!("{indent}{}\n", escaped(line));
    }
    if let Some(choices) = &item.choices {
        text += &format!("\n{indent}{}:\n\n", escaped(&choices.label));
        for choice in &choices.texts {
            let parts = Choices::parts(choice).into_iter();
            let parts = parts.map(
                |(is_code, part)| {
                    if is_code { format!("`{part}`") } else { escaped(part) }
                },
            );
            text += &format!("{indent}- {}\n", parts.collect::<String>());
        }
    }
    text
}

fn table(table: &Table) -> String {
    let mut text = caption(&table.title);
    let heads = table
        .columns
        .iter()
        .map(|column| escaped(&column.full_head()));
    text += &row(heads);
    let rules = table.columns.iter().map(|column| match column.align {
        Align::Left => "---".to_owned(),
        Align::Right => "---:".to_owned(),
    });
    text += &row(rules);
    for cells in &table.rows {
        let cells = std::iter::zip(&table.columns, cells);
        text += &row(cells
            .map(|(column, cell)| escaped(&format!("{}{}", cell.text, column.mark(cell.role)))));
    }
    text
}

fn map(map: &Map) -> String {
    let mut text = caption(&map.title);
    text += &row([&map.row_head]
        .into_iter()
        .chain(&map.heads)
        .map(|head| escaped(head)));
    text += &row(
        (0..=map.heads.len()).map(|column| if column == 0 { "---:" } else { "---" }.to_owned())
    );
    for line in &map.rows {
        let squares = line.squares.iter().map(|square| match square {
            Some(square) => format!("{} {}", escaped(&square.letter), escaped(&square.figure)),
            None => "-".to_owned(),
        });
        text += &row([escaped(&line.head)].into_iter().chain(squares));
    }
    text
}

fn caption(title: &str) -> String {
    if title.is_empty() {
        return String::new();
    }
    format!("**{}**\n\n", escaped(title))
}

fn row(cells: impl Iterator<Item = String>) -> String {
    let mut text = "|".to_owned();
    for cell in cells {
        text += &format!(" {cell} |");
    }
    text + "\n"
}

/// Escapes what could begin markup, a link, HTML, a list or a heading, or end the cell of a table.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    // `1. ` and `1) ` begin a numbered list.
    let list = (text.len() != digits.len() && digits.starts_with(['.', ')']))
        .then(|| text.len() - digits.len());
    let mut before = ' ';
    let mut letters = text.char_indices().peekable();
    while let Some((index, c)) = letters.next() {
        let next = letters.peek().map_or(' ', |&(_, next)| next);
        let is_markup = match c {
            '\\' | '|' | '`' | '<' | '[' | ']' | '*' | '~' => true,
            // Within a word an underscore means nothing.
            '_' => !(before.is_alphanumeric() && next.is_alphanumeric()),
            '&' => next == '#' || next.is_alphabetic(),
            '!' => next == '[',
            '#' | '>' | '+' | '-' | '=' => {
                index == 0 && (c != '-' || next.is_whitespace() || next == '-')
            }
            '.' | ')' => list == Some(index) && next.is_whitespace(),
            _ => false,
        };
        if is_markup {
            safe.push('\\');
        }
        safe.push(c);
        before = c;
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        for (text, expected) in [
            ("a|b*c*", "a\\|b\\*c\\*"),
            ("page_cache _x_ __", "page_cache \\_x\\_ \\_\\_"),
            ("# no heading", "\\# no heading"),
            ("1. no list", "1\\. no list"),
            ("1.34× and 2) more", "1.34× and 2) more"),
            ("-1.2 and - 3", "-1.2 and - 3"),
            ("- no list", "\\- no list"),
            ("+2 %", "\\+2 %"),
            ("<b>&lt; & c</b>", "\\<b>\\&lt; & c\\</b>"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }
}
