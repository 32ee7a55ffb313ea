//! The cost of `put_slice`, against the buffers that programs use today.

use std::hint::black_box;
use std::time::Instant;

use bytes::{Buf, BufMut, BytesMut};
use vectored::SegmentQueue;

const MESSAGES: usize = 200;
const MESSAGE: [u8; 100] = [7; 100];
const TURNS: u32 = 50;

/// Prints the time of 200 messages of 100 bytes that are put in and then removed.
pub fn print(rounds: usize) {
    let mut queue = SegmentQueue::new();
    let mut vec: Vec<u8> = Vec::new();
    let mut bytes_mut = BytesMut::new();
    let techniques: [(&str, &mut dyn FnMut()); 3] = [
        ("SegmentQueue", &mut || {
            for _ in 0..MESSAGES {
                queue.put_slice(black_box(&MESSAGE));
            }
            let bytes = queue.len();
            black_box(queue.segments().next());
            queue.advance(bytes);
        }),
        ("Vec", &mut || {
            for _ in 0..MESSAGES {
                vec.extend_from_slice(black_box(&MESSAGE));
            }
            black_box(&vec);
            vec.clear();
        }),
        ("BytesMut", &mut || {
            for _ in 0..MESSAGES {
                bytes_mut.put_slice(black_box(&MESSAGE));
            }
            black_box(&bytes_mut);
            bytes_mut.advance(bytes_mut.len());
        }),
    ];
    let mut times = [const { Vec::new() }; 3];
    for round in 0..rounds * 10 {
        for turn in 0..techniques.len() {
            let at = (round + turn) % techniques.len();
            let began = Instant::now();
            for _ in 0..TURNS {
                techniques[at].1();
            }
            times[at].push(began.elapsed().as_nanos() as f64 / f64::from(TURNS));
        }
    }
    println!("\n200 messages of 100 bytes put in and removed, ns:");
    for ((name, _), times) in techniques.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!("  {name:13} {:8.0}", times[times.len() / 2]);
    }
}
