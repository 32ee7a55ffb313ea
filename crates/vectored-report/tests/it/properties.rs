//! Properties of any document.

use proptest::prelude::*;
use vectored_report::{
    Align, Block, Column, Document, Table, TerminalOptions, Text, html, markdown, terminal,
};

use crate::samples::of_texts;

fn wide(width: usize, color: bool) -> TerminalOptions {
    TerminalOptions {
        width,
        color,
        details: true,
    }
}

/// Each text as a word of its own.
fn counted() -> impl FnMut() -> String {
    let mut number = 0;
    move || {
        number += 1;
        format!("t{number}t")
    }
}

#[test]
fn every_text_is_in_every_format() {
    let mut unseen = || "drawn".to_owned();
    let mut all = Vec::new();
    let mut next = counted();
    let mut remember = || {
        all.push(next());
        all[all.len() - 1].clone()
    };
    let document = of_texts(&mut remember, &mut unseen);
    for text in [
        terminal(&document, &wide(40, false)),
        terminal(&document, &wide(200, true)),
        html(std::slice::from_ref(&document)),
        markdown(&document),
    ] {
        for word in &all {
            assert!(text.contains(word.as_str()), "{word} is missing in\n{text}");
        }
    }
    let mut drawn = counted();
    let document = of_texts(&mut || "text".to_owned(), &mut drawn);
    let page = html(&[document]);
    for number in 1..21 {
        let word = format!("t{number}t");
        assert!(page.contains(&word), "{word} is missing");
    }
}

#[test]
fn a_value_that_makes_no_sense_is_not_drawn() {
    let mut document = of_texts(&mut || "text".to_owned(), &mut counted());
    let mut blocks = document
        .sections
        .iter_mut()
        .flat_map(|section| &mut section.blocks);
    let chart = blocks.find_map(|block| match block {
        Block::Chart(chart) => Some(chart),
        _ => None,
    });
    let chart = chart.unwrap();
    chart.curves[0].points[0].at = 0;
    chart.curves[1].points[0].value = 1e-200;
    let last = &mut chart.curves[2].points[2];
    (last.at, last.value) = (u64::MAX, 1e300);
    chart.curves[2].points[1].interval = Some((1.0, f64::INFINITY));
    (chart.marks[0].low, chart.marks[0].high) = (f64::NAN, -1.0);
    let (gone, there) = (
        &chart.curves[0].points[0].words,
        &chart.curves[1].points[0].words,
    );
    let words = [gone, there].map(Text::to_string);
    let page = html(&[document]);
    assert_eq!(words.map(|words| page.contains(&words)), [false, true]);
}

fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("<script>".to_owned()),
        Just("\" onload=\"".to_owned()),
        Just("|".to_owned()),
        Just("\x1b[2J".to_owned()),
        Just("\u{202e}".to_owned()),
        Just("\n".to_owned()),
        Just("`".to_owned()),
        Just("\\".to_owned()),
        Just("# ".to_owned()),
        Just("](javascript:x)[".to_owned()),
        "\\PC{1,3}",
        any::<char>().prop_map(|c| c.to_string()),
    ];
    // A text is never empty: an empty text would leave elements out.
    prop::collection::vec(pieces, 1..5).prop_map(|pieces| format!("x{}", pieces.concat()))
}

/// The `|` of a line that no backslash escapes.
fn bars_of(line: &str) -> usize {
    let mut is_escaped = false;
    let bars = line.chars().filter(|&c| {
        let was_escaped = is_escaped;
        is_escaped = c == '\\' && !was_escaped;
        c == '|' && !was_escaped
    });
    bars.count()
}

proptest! {
    #[test]
    fn hostile_text_stays_text(text in hostile()) {
        let document = of_texts(&mut || text.clone(), &mut || text.clone());
        let harmless = of_texts(&mut || "x".to_owned(), &mut || "x".to_owned());
        for color in [false, true] {
            let mut shown = terminal(&document, &wide(60, color));
            if color {
                let styles = "0 1 31 32 33 36 97;48;5;25 30;48;5;182 30;48;5;229 30;48;5;252";
                for style in styles.split(' ') {
                    shown = shown.replace(&format!("\x1b[{style}m"), "");
                }
            }
            let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            prop_assert!(!shown.contains(steers), "{shown:?}");
        }
        let (page, plain) = (html(std::slice::from_ref(&document)), html(&[harmless]));
        for quoted in ['<', '>', '"', '\u{202e}', '\x1b'] {
            let of = |page: &str| page.matches(quoted).count();
            prop_assert_eq!(of(&page), of(&plain), "{} in {}", quoted, page);
        }
        let text = markdown(&document);
        prop_assert!(!text.contains(['\x1b', '\u{202e}']), "{text:?}");
        let rows = text.lines().filter(|line| line.starts_with('|'));
        let counts: Vec<usize> = rows.map(bars_of).collect();
        prop_assert_eq!(counts, vec![4; 9]);
    }

    #[test]
    fn no_table_is_wider_than_its_words_ask_for(
        columns in 1_usize..7,
        lengths in prop::collection::vec(0_usize..40, 14..60),
        names in 0_usize..7,
        dropped in 1_usize..7,
        grouped in any::<bool>(),
        width in 8_usize..120,
    ) {
        let mut number = 0;
        let mut cell = |length: &usize| {
            let words = (1..=1 + length % 3).map(|word| {
                number += 1;
                format!("{number}{}", "x".repeat((length * word) % 9))
            });
            words.collect::<Vec<_>>().join(" ")
        };
        let rows: Vec<Vec<String>> = lengths.chunks_exact(columns).map(|row| row.iter().map(&mut cell).collect()).collect();
        let column = |(index, head): (usize, &String)| Column {
            head: head.into(),
            group: if grouped { format!("g{}", index / 2).into() } else { Text::default() },
            align: if index < names { Align::Left } else { Align::Right },
            drop_order: u8::from(index == dropped),
        };
        let table = Table {
            title: Text::default(),
            columns: rows[0].iter().enumerate().map(column).collect(),
            rows: rows[1..].iter().map(|row| row.iter().map(|cell| cell.as_str().into()).collect()).collect(),
        };
        let document = Document { answer: vec![Block::Table(table)], ..Document::default() };
        let shown = terminal(&document, &wide(width, false));
        // In a list a head stands before each word.
        let of = |cells: &[Vec<String>]| cells.iter().flatten().flat_map(|cell| cell.split(' ').map(str::len).collect::<Vec<_>>()).max();
        let head = rows[0].iter().map(|head| head.len() + 3).max();
        let least = head.unwrap_or(0) + 2 + of(&rows[1..]).unwrap_or(0).max(of(&rows[..1]).unwrap_or(0));
        for line in shown.lines() {
            prop_assert!(line.len() <= width.max(least).max("terminal".len()), "{} of {}:\n{}", line.len(), width, shown);
        }
        let is_dropped = shown.contains("narrow:");
        let words: Vec<&str> = shown.split([' ', '\n', '.', ',']).collect();
        for row in &rows {
            for (index, cell) in row.iter().enumerate() {
                for word in cell.split(' ').filter(|_| !(is_dropped && index == dropped)) {
                    prop_assert!(words.contains(&word), "{} is cut in\n{}", word, shown);
                }
            }
        }
    }
}
