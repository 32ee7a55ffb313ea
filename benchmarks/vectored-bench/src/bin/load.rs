//! Runs the servers of `bench-programs` under a load generator, and prints the CPU time of a request by technique.
//!
//! ```text
//! cargo run --release --manifest-path benchmarks/Cargo.toml --bin load -- \
//!     resp get 16x16384 today,segment-queue,today-again 9 \
//!     redis-benchmark -p PORT -n 100000 -c 16 -P 16 -r 256 GET key:__rand_int__
//! ```
//!
//! The arguments are the program, the kind of request, its count and bytes, the techniques (`cargo xtask bench-programs` names
//! them), the rounds, and the command of the load generator, in which `PORT` is replaced. Each technique has a server process
//! of its own. In each round every server gets the whole load once, in turns. The other techniques are compared with the first:
//! the last lines have the median, the smallest and the largest ratio of all rounds.

use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::{env, fs, io};

use vectored_bench::command_line::number;
use vectored_bench::programs::case::{Case, Program};
use vectored_bench::programs::catalogue::PROGRAMS;
use vectored_bench::programs::harness::Harness;
use vectored_bench::programs::policies::{Policies, PolicySource};

const USAGE: &str = "load PROGRAM KIND COUNTxBYTES TECHNIQUE,TECHNIQUE… ROUNDS COMMAND…";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        // The process of a server, which this program starts.
        ["serve", program, kind, size, technique] => serve(program, kind, size, technique),
        [program, kind, size, techniques, rounds, ref command @ ..] if !command.is_empty() => {
            compare([program, kind, size], techniques, rounds, command)
        }
        _ => Err(format!("expected: {USAGE}").into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the port, then serves it until the process is killed.
fn serve(program: &str, kind: &str, size: &str, technique: &str) -> Result<(), Box<dyn Error>> {
    let (program, case) = case(program, kind, size)?;
    let directory = env::temp_dir();
    let policies = Policies::of(PolicySource::Default, &directory)?;
    let harness = Harness::new(Path::new(&directory), policies)?;
    let mut all = (program.open)(&harness, &case)?.all;
    let names: Vec<&str> = all.iter().map(|one| one.technique).collect();
    let unknown = || format!("{case} has {}, not '{technique}'", names.join(", "));
    let found = all.iter_mut().find(|one| one.technique == technique);
    let found = found.ok_or_else(unknown)?;
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    println!("{}", listener.local_addr()?.port());
    Ok(found.session.listen(listener)?)
}

fn case(program: &str, kind: &str, size: &str) -> Result<(Program, Case), Box<dyn Error>> {
    let program = PROGRAMS.iter().find(|one| one.name == program);
    let program = *program.ok_or("the program is unknown")?;
    let kind = program.kinds.iter().find(|one| one.name == kind);
    let kind = kind.ok_or("the program has no such kind of request")?.name;
    let (count, bytes) = size
        .split_once('x')
        .ok_or("the size has the form 16x4096")?;
    let case = Case {
        program: program.name,
        kind,
        bytes: bytes.parse()?,
        count: count.parse()?,
    };
    Ok((program, case))
}

/// A server in a process of its own.
struct Server {
    process: Child,
    port: String,
    /// CPU time per request, in ns, of each round.
    cpu_ns: Vec<f64>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    fn start(case: [&str; 3], technique: &str) -> io::Result<Server> {
        let mut process = Command::new(env::current_exe()?)
            .arg("serve")
            .args(case)
            .arg(technique)
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().expect("it is piped");
        let mut port = String::new();
        BufReader::new(output).read_line(&mut port)?;
        let server = Server {
            process,
            port: port.trim().to_owned(),
            cpu_ns: Vec::new(),
        };
        // A server that gives no port has printed its error.
        match server.port.parse::<u16>() {
            Ok(_) => Ok(server),
            Err(_) => Err(io::Error::other(format!("no server of {technique}"))),
        }
    }

    /// CPU time of the main thread, which serves.
    fn total_cpu_ns(&self) -> Result<f64, Box<dyn Error>> {
        let stat = fs::read_to_string(format!("/proc/{}/schedstat", self.process.id()))?;
        let time = stat.split(' ').next().ok_or("schedstat is empty")?;
        Ok(time.parse()?)
    }

    /// Runs the load generator, and returns CPU time of the server per request.
    fn load(&self, command: &[&str]) -> Result<f64, Box<dyn Error>> {
        let words: Vec<String> = command
            .iter()
            .map(|word| word.replace("PORT", &self.port))
            .collect();
        let before = self.total_cpu_ns()?;
        let output = Command::new(&words[0]).args(&words[1..]).output()?;
        let cpu_ns = self.total_cpu_ns()? - before;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || text.contains("Non-2xx") || text.contains("Socket errors") {
            return Err(format!("the load failed: {text}").into());
        }
        Ok(cpu_ns / requests(&text).ok_or_else(|| format!("no number of requests in: {text}"))?)
    }
}

/// The requests that the load generator counts as answered.
fn requests(output: &str) -> Option<f64> {
    output.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            // wrk: "12345 requests in 2.00s, 10.0MB read".
            [count, "requests", "in", ..] => count.parse().ok(),
            // redis-benchmark: "100000 requests completed in 1.23 seconds".
            [count, "requests", "completed", ..] => count.parse().ok(),
            // h2load: "requests: 10 total, 10 started, 10 done, 10 succeeded, 0 failed, 0 errored, 0 timeout".
            [
                "requests:",
                total,
                "total,",
                ..,
                "0",
                "failed,",
                "0",
                "errored,",
                "0",
                "timeout",
            ] => total.parse().ok(),
            _ => None,
        }
    })
}

fn compare(
    case: [&str; 3],
    techniques: &str,
    rounds: &str,
    command: &[&str],
) -> Result<(), Box<dyn Error>> {
    let rounds: usize = number("rounds", rounds)?;
    let techniques: Vec<&str> = techniques.split(',').collect();
    let starts = techniques.iter().map(|name| Server::start(case, name));
    let mut servers = starts.collect::<io::Result<Vec<Server>>>()?;
    for round in 0..=rounds {
        for index in 0..servers.len() {
            // Each round begins with another technique.
            let at = (index + round) % techniques.len();
            let cpu_ns = servers[at].load(command)?;
            // The first round warms up.
            if round > 0 {
                servers[at].cpu_ns.push(cpu_ns);
            }
        }
    }
    println!(
        "{}: {rounds} rounds of {}",
        case.join(" "),
        command.join(" ")
    );
    for (server, technique) in servers.iter().zip(&techniques) {
        let pairs = server.cpu_ns.iter().zip(&servers[0].cpu_ns);
        let (low, ratio, high) = spread(pairs.map(|(own, first)| own / first).collect());
        let (_, cpu_ns, _) = spread(server.cpu_ns.clone());
        let cpu_us = cpu_ns / 1000.0;
        println!("  {technique:<16} {cpu_us:8.2} µs  {ratio:.2} [{low:.2}, {high:.2}]");
    }
    Ok(())
}

/// The smallest, the median and the largest.
fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (
        values[0],
        values[values.len() / 2],
        values[values.len() - 1],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_each_load_generator_is_found() {
        for (output, count) in [
            (
                "  1234 requests in 1.10s, 54.06MB read\nRequests/sec: 9.9\n",
                Some(1234.0),
            ),
            (
                "====== PING ======\n  500 requests completed in 0.01 seconds\n",
                Some(500.0),
            ),
            (
                "requests: 8 total, 8 started, 8 done, 8 succeeded, 0 failed, 0 errored, 0 timeout\n",
                Some(8.0),
            ),
            (
                "requests: 8 total, 8 started, 8 done, 7 succeeded, 1 failed, 0 errored, 0 timeout\n",
                None,
            ),
            ("nothing\n", None),
        ] {
            assert_eq!(requests(output), count, "{output}");
        }
    }

    #[test]
    fn a_spread_is_smallest_median_and_largest() {
        assert_eq!(spread(vec![3.0, 1.0, 2.0]), (1.0, 2.0, 3.0));
        assert_eq!(spread(vec![5.0]), (5.0, 5.0, 5.0));
    }
}
