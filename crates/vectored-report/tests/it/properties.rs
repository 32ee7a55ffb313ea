//! Properties of any document.

use proptest::prelude::*;
use vectored_report::{
    Align, Bar, Bars, Block, Cell, Chart, Choices, Column, Curve, Details, Document, FORMATS, Item,
    Key, Map, MapRow, Mark, Point, Role, Section, Sentence, Series, Square, Table, TerminalOptions,
    Text, Tone, Unit, html, markdown, terminal,
};

/// A document whose every text comes from `next`, except texts of drawings, which come from `drawn`.
fn of_texts(next: &mut dyn FnMut() -> String, drawn: &mut dyn FnMut() -> String) -> Document {
    let table = Table {
        title: next().into(),
        columns: [Align::Left, Align::Right, Align::Right]
            .map(|align| Column {
                head: next().into(),
                group: next().into(),
                align,
                drop_order: 0,
                tooltip: drawn().into(),
            })
            .to_vec(),
        rows: (0..2)
            .map(|_| {
                [Role::Plain, Role::Winner, Role::Open]
                    .map(|role| Cell::with_role(next(), role))
                    .to_vec()
            })
            .collect(),
    };
    let map = Map {
        title: next().into(),
        row_head: next().into(),
        heads: vec![next().into(), next().into()],
        rows: vec![MapRow {
            head: next().into(),
            squares: vec![
                None,
                Some(Square {
                    letter: next().into(),
                    figure: next().into(),
                    words: drawn().into(),
                    role: Role::Winner,
                    strength: f64::NAN,
                    series: Series::new(9),
                }),
            ],
        }],
        keys: vec![Key {
            letter: next().into(),
            name: next().into(),
            series: Series::default(),
        }],
        figures: next().into(),
        legend: next().into(),
    };
    let item = Item {
        title: next().into(),
        headline: next().into(),
        part: Some(f64::NAN),
        lines: vec![next().into(), next().into()],
        choices: Some(Choices {
            label: next().into(),
            // Backticks mark code.
            texts: vec![
                next().replace('`', "'").into(),
                next().replace('`', "'").into(),
            ],
        }),
    };
    let details = Details {
        summary: next().into(),
        blocks: vec![Block::Note(next().into())],
    };
    let tones = [Tone::Plain, Tone::Strong, Tone::Warning, Tone::Quiet];
    let mut answer = tones
        .map(|tone| {
            Block::Sentence(Sentence {
                subject: next().into(),
                text: next().into(),
                tone,
            })
        })
        .to_vec();
    answer.extend(tones.map(|tone| Block::Sentence(Sentence::toned(tone, next()))));
    Document {
        title: next().into(),
        lead: drawn().into(),
        answer,
        warnings: vec![Block::Sentence(Sentence::toned(Tone::Warning, next()))],
        body: vec![Block::Item(item), Block::Details(details)],
        sections: vec![Section {
            title: next().into(),
            blocks: vec![
                Block::Table(table),
                Block::Map(map),
                Block::Chart(chart(drawn)),
                Block::Bars(bars(drawn)),
            ],
        }],
    }
}

fn chart(drawn: &mut dyn FnMut() -> String) -> Chart {
    let point = |at, value, words: String| Point {
        at,
        value,
        interval: Some((value, f64::INFINITY)),
        words: words.into(),
    };
    Chart {
        title: drawn().into(),
        along: Unit::Bytes,
        up: Unit::Ratio,
        curves: vec![Curve {
            name: drawn().into(),
            series: Series::new(1),
            points: vec![
                point(1.0, 1e-200, drawn()),
                point(1e300, 1e300, drawn()),
                point(f64::NAN, 1.0, drawn()),
            ],
        }],
        marks: vec![Mark {
            at: 2.0,
            low: f64::NAN,
            high: -1.0,
            label: drawn().into(),
        }],
        labelled: Vec::new(),
        base: Some(1.0),
    }
}

fn bars(drawn: &mut dyn FnMut() -> String) -> Bars {
    Bars {
        title: drawn().into(),
        bars: vec![Bar {
            group: drawn().into(),
            name: drawn().into(),
            series: Series::new(2),
            value: Some(1.0),
            interval: None,
            words: drawn().into(),
        }],
        ..Bars::default()
    }
}

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
    let mut texts = vec![
        terminal(&document, &wide(40, false)),
        terminal(&document, &wide(200, true)),
        html(std::slice::from_ref(&document)),
    ];
    texts.extend(FORMATS.iter().map(|format| (format.render)(&document)));
    for text in &texts {
        for word in &all {
            assert!(text.contains(word.as_str()), "{word} is missing in\n{text}");
        }
    }
    let mut drawn = counted();
    let document = of_texts(&mut || "text".to_owned(), &mut drawn);
    let page = html(&[document]);
    // The point at NaN has no place.
    let missing: Vec<String> = (1..16)
        .map(|number| format!("t{number}t"))
        .filter(|word| !page.contains(word))
        .collect();
    assert_eq!(missing.len(), 1, "{missing:?}");
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
    // A text is never empty, which would leave elements out.
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
                for style in ["0", "1", "32", "33", "36", "97;48;5;96", "30;48;5;182"] {
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
        for format in FORMATS {
            let text = (format.render)(&document);
            prop_assert!(!text.contains(['\x1b', '\u{202e}']), "{}: {text:?}", format.name);
        }
        let text = markdown(&document);
        let rows = text.lines().filter(|line| line.starts_with('|'));
        let counts: Vec<usize> = rows.map(bars_of).collect();
        prop_assert_eq!(counts, vec![4, 4, 4, 4, 4, 4, 4]);
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
            tooltip: Text::default(),
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
