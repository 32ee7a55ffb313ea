//! Invented documents.

use vectored_report::{
    Align, Bar, Bars, Block, Cell, Chart, Choices, Code, Column, Curve, Details, Document, Item,
    Key, Map, MapRow, Mark, Point, Role, Section, Sentence, Series, Square, Table, Tone, Unit,
    words,
};

/// A document with a block of each kind.
pub fn everything() -> Document {
    Document {
        title: "Copy or gather? An invented machine".into(),
        lead: "This page shows which way of sending several buffers takes the least time.".into(),
        warnings: vec![Block::Sentence(Sentence::toned(
            Tone::Warning,
            "The machine was busy: its load was 3.2 on 2 CPUs. Stop other programs and measure again.",
        ))],
        answer: vec![
            Block::Sentence(Sentence::of(
                "file",
                "copy below 1.40 KiB, gather above; never write one by one, which takes 1.4 to 39 times as long.",
            )),
            Block::Sentence(Sentence::of("pipe", "copy or gather is undecided.")),
        ],
        body: vec![Block::Map(map("file", 1.0)), Block::Map(map("pipe", 0.6))],
        sections: vec![
            Section {
                title: "Figures of file".into(),
                blocks: vec![
                    Block::Table(techniques()),
                    Block::Chart(chart()),
                    Block::Bars(bars()),
                ],
            },
            Section {
                title: "A published experiment".into(),
                blocks: vec![
                    Block::Sentence(Sentence::toned(
                        Tone::Strong,
                        "A buffer of 4096 bytes is as fast as any.",
                    )),
                    Block::Table(experiment()),
                ],
            },
            Section {
                title: "Findings".into(),
                blocks: findings(),
            },
            Section {
                title: "How to read this".into(),
                blocks: vec![
                    Block::Note("* marks the winner, = what is as fast within 2 %.".into()),
                    Block::Note(
                        "The floor is one write of the same bytes, which already lie in one piece."
                            .into(),
                    ),
                    Block::Sentence(Sentence::toned(Tone::Quiet, "Seed 42.")),
                    Block::Code(Code::new(
                        "",
                        "vectored measure --seed 42\nvectored report latest",
                    )),
                ],
            },
        ],
    }
}

fn map(title: &str, share: f64) -> Map {
    const SIZES: [&str; 6] = ["16 B", "64 B", "256 B", "1 KiB", "4 KiB", "16 KiB"];
    let square = |row: usize, column: usize| {
        let ratio = 1.0 + share * (column as f64 - 3.0).abs() * (row as f64 + 0.2);
        let (letter, role, hue) = match column {
            3 => ("=", Role::Tie, 0),
            4 if row == 0 => ("?", Role::Open, 3),
            0..3 => ("C", Role::Winner, 2),
            _ => ("G", Role::Winner, 3),
        };
        let figure = if role == Role::Tie { String::new() } else { words::ratio(ratio) };
        Square {
            letter: letter.into(),
            words: format!(
                "{letter}: {}",
                words::ratio_within(ratio, Some((ratio * 0.98, ratio * 1.02)))
            )
            .into(),
            figure: figure.into(),
            role,
            strength: (ratio - 1.0).min(1.0),
            series: Series::new(hue),
        }
    };
    let row = |(row, head): (usize, &str)| MapRow {
        head: head.into(),
        squares: (0..SIZES.len())
            .map(|column| (row + column < 7).then(|| square(row, column)))
            .collect(),
    };
    let key = |(letter, name, hue): (&str, &str, u8)| Key {
        letter: letter.into(),
        name: name.into(),
        series: Series::new(hue),
    };
    Map {
        title: title.into(),
        row_head: "segments".into(),
        heads: SIZES.map(Into::into).to_vec(),
        rows: ["2", "16", "1000"]
            .into_iter()
            .enumerate()
            .map(row)
            .collect(),
        keys: [("C", "copy", 2), ("G", "gather", 3)].map(key).to_vec(),
        figures: "2×: the next best takes twice as long.".into(),
        legend: "= is a tie within 2 %, ? undecided.".into(),
    }
}

fn techniques() -> Table {
    let figures = |head: &str, drop_order| Column {
        drop_order,
        tooltip: format!("Time of {head} ÷ floor.").into(),
        ..Column::figures(head)
    };
    let rows = [
        (
            "2 × 16 B",
            "367 ns",
            ["2.10×", "1.05×", "1.34×"],
            1,
            "copy-then-write by 1.28× [1.21, 1.34]",
        ),
        (
            "2 × 1 KiB",
            "1.02 µs",
            ["1.71×", "1.12×", "1.11×"],
            2,
            "tie",
        ),
        (
            "1000 × 16 KiB",
            "8.31 ms",
            ["1.30×", "1.62×", "1.01×"],
            2,
            "writev by 1.29× [1.25, 1.33]",
        ),
    ];
    Table {
        title: "Time ÷ floor".into(),
        columns: vec![
            Column::words("list"),
            figures("floor", 2),
            figures("write-each", 1),
            figures("copy-then-write", 3),
            figures("writev", 3),
            Column::words("verdict"),
        ],
        rows: rows
            .into_iter()
            .map(|(list, floor, taxes, best, verdict)| {
                let mut row: Vec<Cell> = vec![list.into(), floor.into()];
                row.extend(taxes.iter().enumerate().map(|(index, &tax)| {
                    let role = if index == best { Role::Winner } else { Role::Plain };
                    Cell::with_role(tax, role)
                }));
                row.push(Cell {
                    short: Some(verdict.replace("-then-write", "").into()),
                    ..verdict.into()
                });
                row
            })
            .collect(),
    }
}

fn experiment() -> Table {
    let heads = ["user", "system", "clock"];
    let mut columns = vec![Column {
        align: Align::Left,
        ..Column::figures("buffer")
    }];
    for group in ["here, seconds:", "2005, seconds:"] {
        columns.extend(heads.map(|head| Column {
            group: group.into(),
            ..Column::figures(head)
        }));
    }
    let row = |buffer: u32| {
        let mut row: Vec<Cell> = vec![words::grouped(buffer.into()).into()];
        row.extend((1..=6).map(|column| format!("{:.3}", 1e4 / f64::from(buffer * column)).into()));
        row
    };
    Table {
        title: "Copying a file".into(),
        columns,
        rows: [1, 4096, 524_288].map(row).to_vec(),
    }
}

fn findings() -> Vec<Block> {
    vec![
        Block::Item(Item {
            title: "write 12 B, write 3000 B: a header and its body, 5000 times".into(),
            headline: "saves 812 ms [700, 910], 19 % of the wall time".into(),
            part: Some(0.8),
            lines: vec![
                "python3, descriptor 5, /var/lib/example/a_rather_long_path_that_no_line_can_break_in_two/log.txt".into(),
                "One call can write both: use a list of segments.".into(),
            ],
            choices: Some(Choices {
                label: "Rust".into(),
                texts: vec!["`vectored::write_all(&file, &mut [header, body])?`".into(), "or a `BufWriter`".into()],
            }),
        }),
        Block::Item(Item {
            title: "read 512 B, again and again".into(),
            lines: vec!["A larger buffer would do.".into()],
            ..Item::default()
        }),
        Block::Details(Details {
            summary: "What is not counted".into(),
            blocks: vec![Block::Sentence(Sentence::of("7 calls", "another process uses the descriptor."))],
        }),
    ]
}

fn chart() -> Chart {
    let curve = |name: &str, hue, of: fn(f64) -> f64| Curve {
        name: name.into(),
        series: Series::new(hue),
        points: (4..=14)
            .step_by(2)
            .map(|power| {
                let at = f64::from(power).exp2();
                let value = of(at);
                Point {
                    at,
                    value,
                    interval: Some((value * 0.97, value * 1.03)),
                    words: format!("{name}, {}: {}", words::about(at), words::ratio(value)).into(),
                }
            })
            .collect(),
    };
    Chart {
        title: "16 segments: time ÷ floor, by segment size".into(),
        along: Unit::Bytes,
        up: Unit::Ratio,
        curves: vec![
            curve("write-each", 1, |bytes| 1.0 + 300.0 / bytes.sqrt()),
            curve("copy-then-write", 2, |bytes| 1.03 + bytes / 30_000.0),
            curve("writev", 3, |bytes| 1.0 + 2.0 / bytes.sqrt()),
        ],
        marks: vec![Mark {
            at: 1434.0,
            low: 1340.0,
            high: 1560.0,
            label: "1.40 KiB".into(),
        }],
        base: Some(1.0),
        ..Chart::default()
    }
}

fn bars() -> Bars {
    let bar = |(group, name, value): (&str, &str, f64)| Bar {
        group: group.into(),
        name: name.into(),
        series: Series::new(2),
        value: (value > 0.0).then_some(value),
        interval: Some((value * 0.9, value * 1.1)),
        words: if value > 0.0 {
            words::ratio_within(value, Some((value * 0.9, value * 1.1)))
        } else {
            "not measured".to_owned()
        }
        .into(),
    };
    Bars {
        title: "writev ÷ copying, by system".into(),
        unit: Unit::Ratio,
        base: Some(1.0),
        bars: [
            ("here", "Linux 6.18", 1.12),
            ("1992", "SVR4, Intel 80386 with a long name", 0.8),
            ("1992", "SunOS 4.1.1", 0.0),
        ]
        .map(bar)
        .to_vec(),
        ..Bars::default()
    }
}
