//! Invented documents.

use vectored_report::{
    Align, Block, Cell, Chart, Choices, Column, Curve, Document, Item, Key, Map, MapRow, Maps,
    Mark, Point, Role, Section, Sentence, Series, Square, Table, Tone,
};

/// A source of texts.
pub type Texts<'a> = &'a mut dyn FnMut() -> String;

/// A document with a block of each kind. Texts of drawings come from `drawn`, all other texts from `next`.
pub fn of_texts(next: Texts<'_>, drawn: Texts<'_>) -> Document {
    let tones = [Tone::Plain, Tone::Strong, Tone::Warning, Tone::Quiet];
    let mut answer = tones
        .map(|tone| {
            Block::Sentence(Sentence {
                tone,
                ..Sentence::of(next(), next())
            })
        })
        .to_vec();
    answer.extend(tones.map(|tone| Block::Sentence(Sentence::toned(tone, next()))));
    let item = Item {
        title: next().into(),
        headline: next().into(),
        lines: vec![next().into(), next().into()],
        choices: Some(Choices {
            label: next().into(),
            // Backticks mark code.
            texts: ["`", ""]
                .map(|mark| format!("{mark}{}{mark}", next().replace('`', "'")).into())
                .into(),
        }),
    };
    let column = |next: Texts<'_>, align| Column {
        group: next().into(),
        align,
        ..Column::figures(next())
    };
    let table = Table {
        title: next().into(),
        columns: [Align::Left, Align::Right, Align::Right]
            .map(|align| column(next, align))
            .to_vec(),
        rows: vec![
            [Role::Plain, Role::Winner, Role::Open]
                .map(|role| Cell::with_role(next(), role))
                .into(),
            [Role::Tie, Role::Tie, Role::Loser]
                .map(|role| Cell::with_role(next(), role))
                .into(),
        ],
    };
    Document {
        title: next().into(),
        lead: drawn().into(),
        answer,
        warnings: vec![Block::Sentence(Sentence::toned(Tone::Warning, next()))],
        body: vec![Block::Item(item), Block::Note(next().into())],
        sections: vec![Section {
            title: next().into(),
            blocks: vec![
                Block::Table(table),
                Block::Maps(maps(vec![map(next, drawn)], next)),
                Block::Chart(chart(drawn)),
            ],
        }],
    }
}

fn map(next: Texts<'_>, drawn: Texts<'_>) -> Map {
    let mut square = |role, strength, hue| {
        Some(Square {
            letter: next().into(),
            figure: next().into(),
            words: drawn().into(),
            role,
            strength,
            series: Series::new(hue),
        })
    };
    let squares = [
        vec![square(Role::Winner, 1.0, 2), square(Role::Winner, 0.3, 3)],
        vec![square(Role::Tie, 0.0, 0), None],
        vec![
            square(Role::Open, 0.0, 9),
            square(Role::Winner, f64::NAN, 9),
        ],
    ];
    Map {
        title: next().into(),
        row_head: next().into(),
        heads: vec![next().into(), next().into()],
        rows: squares
            .map(|squares| MapRow {
                head: next().into(),
                squares,
            })
            .into(),
    }
}

fn maps(maps: Vec<Map>, next: Texts<'_>) -> Maps {
    Maps {
        maps,
        keys: vec![Key {
            letter: next().into(),
            name: next().into(),
            series: Series::new(2),
        }],
        figures: next().into(),
        legend: next().into(),
    }
}

fn chart(drawn: Texts<'_>) -> Chart {
    let mut curve = |hue, of: fn(f64) -> f64| Curve {
        name: drawn().into(),
        series: Series::new(hue),
        points: [16_u32, 256, 4096]
            .map(|at| (at, of(f64::from(at))))
            .map(|(at, value)| Point {
                at: at.into(),
                value,
                interval: Some((value * 0.97, value * 1.03)),
                words: drawn().into(),
            })
            .into(),
    };
    Chart {
        curves: vec![
            curve(1, |bytes| 1.0 + 300.0 / bytes.sqrt()),
            curve(2, |bytes| 1.03 + bytes / 30_000.0),
            curve(3, |bytes| 1.0 + 2.0 / bytes.sqrt()),
        ],
        title: drawn().into(),
        is_ratio: true,
        marks: vec![Mark {
            at: 1434.0,
            low: 1340.0,
            high: 1560.0,
            label: drawn().into(),
        }],
    }
}

/// A document of a few phrases, with tables that have to become narrower.
pub fn everything() -> Document {
    const PHRASES: [&str; 7] = [
        "file",
        "copy below 1.40 KiB, gather above; never write one by one, which takes 1.4 to 39 times as long.",
        "2×",
        "/var/lib/example/a_rather_long_path_that_no_line_can_break_in_two/log.txt",
        "vectored::write_all(&file, &mut [header, body])?",
        "8.31 ms",
        "the machine was busy",
    ];
    let mut turns = PHRASES.iter().cycle();
    let mut next = || turns.next().map_or("", |phrase| phrase).to_owned();
    let mut turns = ["the words of a point", "name"].iter().cycle();
    let mut drawn = || turns.next().map_or("", |phrase| phrase).to_owned();
    let mut document = of_texts(&mut next, &mut drawn);
    let of_both = ["file", "pipe"].map(|title| {
        let mut letters = ["G", "1.32×"].iter().cycle();
        let mut letter = || letters.next().map_or("", |letter| letter).to_owned();
        Map {
            title: title.into(),
            ..map(&mut letter, &mut drawn)
        }
    });
    let mut letters = ["1.32×", "G"].iter().cycle();
    let mut letter = || letters.next().map_or("", |letter| letter).to_owned();
    let of_both = maps(of_both.into(), &mut letter);
    document.body.push(Block::Maps(of_both));
    document.sections.push(Section {
        title: "Tables".into(),
        blocks: vec![
            Block::Table(table("Time ÷ floor", TECHNIQUES)),
            Block::Table(table("Copying a file", EXPERIMENT)),
        ],
    });
    document
}

/// Heads with the order in which their columns are dropped; `*` marks the best, and a short text stands before `/`.
const TECHNIQUES: &str = "\
list; 2#floor; 1#write-each; 3#copy-then-write; 3#writev; verdict
2 × 16 B; 367 ns; 2.10×; 1.05×*; 1.34×; copy by 1.28× [1.21, 1.34]/copy-then-write by 1.28× [1.21, 1.34]
2 × 1 KiB; 1.02 µs; 1.71×; 1.12×; 1.11×*; tie
1000 × 16 KiB; 8.31 ms; 1.30×; 1.62×; 1.01×*; writev by 1.29× [1.25, 1.33]";

/// Heads after their groups.
const EXPERIMENT: &str = "\
buffer; here, seconds:|user; here, seconds:|system; here, seconds:|clock; 2005, seconds:|user; 2005, seconds:|system; \
2005, seconds:|clock
1; 10000.000; 5000.000; 3333.333; 2500.000; 2000.000; 1666.667
4096; 2.441; 1.221; 0.814; 0.610; 0.488; 0.407
524,288; 0.019; 0.010; 0.006; 0.005; 0.004; 0.003";

fn table(title: &str, text: &str) -> Table {
    let column = |head: &str| match (head.split_once('|'), head.split_once('#')) {
        (Some((group, head)), _) => Column {
            group: group.into(),
            ..Column::figures(head)
        },
        (_, Some((order, head))) => Column {
            drop_order: order.parse().unwrap(),
            ..Column::figures(head)
        },
        _ => Column::words(head),
    };
    let cell = |text: &str| match (text.strip_suffix('*'), text.split_once('/')) {
        (Some(best), _) => Cell::with_role(best, Role::Winner),
        (_, Some((short, text))) => Cell {
            short: Some(short.into()),
            ..text.into()
        },
        _ => text.into(),
    };
    let mut lines = text.lines().map(|line| line.split("; "));
    Table {
        title: title.into(),
        columns: lines.next().unwrap().map(column).collect(),
        rows: lines.map(|line| line.map(cell).collect()).collect(),
    }
}
