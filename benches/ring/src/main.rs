//! A rank of envdoc's ring as a process: `ring RANK WORLD PORT BYTES ROUNDS`. Rank n listens on PORT + n of the loopback.
#![allow(dead_code, reason = "not everything of the module is used here")]

#[path = "../../../src/smoke/pattern.rs"]
mod pattern;
#[path = "../../../src/smoke/ring.rs"]
mod ring;

use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<usize> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let [rank, world, port, bytes, rounds] = words[..] else { return Err("RANK WORLD PORT BYTES ROUNDS".into()) };
    let listener = TcpListener::bind(("127.0.0.1", u16::try_from(port + rank)?))?;
    let to = ("127.0.0.1", u16::try_from(port + (rank + 1) % world)?);
    let right = loop {
        match TcpStream::connect(to) {
            Ok(stream) => break stream,
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let left = listener.accept()?.0;
    let mut ring = ring::Ring::new(rank, world, right, left, Duration::from_secs(60))?;
    let mut data = ring::Data::new(bytes / 4, world);
    data.fill(rank);
    ring.all_reduce(&data)?;
    let (wrong, _) = data.wrong(world);
    data.zero();
    let together = ring::Data::new(world, world);
    let mut least = f64::INFINITY;
    for _ in 0..rounds {
        ring.all_reduce(&together)?;
        let start = Instant::now();
        ring.all_reduce(&data)?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    let mut raw = f64::INFINITY;
    for _ in 0..rounds {
        ring.all_reduce(&together)?;
        raw = raw.min(ring.stream(bytes, (true, true))?.as_secs_f64());
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    let over = peak.map_or(0, |peak| peak.trim().parse::<usize>().unwrap_or(0)).saturating_sub(bytes >> 10);
    let factor = 2.0 * (world as f64 - 1.0) / world as f64;
    println!("{rank} {:.4} {:.4} {over} {wrong}", bytes as f64 * factor / least / 1e9, bytes as f64 / raw / 1e9);
    Ok(())
}
