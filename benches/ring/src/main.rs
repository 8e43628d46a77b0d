//! A rank of envdoc's ring as a process: `ring RANK WORLD PORT BYTES ROUNDS`. Rank n listens on PORT + n of
//! the loopback, or of the nth address of RING_HOSTS. It prints: rank, best bandwidth, that of its sockets
//! without summing, memory beyond the data, wrong elements, median bandwidth.
#![allow(dead_code, reason = "not everything of the module is used here")]

#[path = "../../../src/smoke/pattern.rs"]
mod pattern;
#[path = "../../../src/smoke/ring.rs"]
mod ring;

use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<usize> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let [rank, world, port, bytes, rounds] = words[..] else { return Err("RANK WORLD PORT BYTES \
        ROUNDS".into()) };
    let hosts = std::env::var("RING_HOSTS").unwrap_or_else(|_| vec!["127.0.0.1"; world].join(","));
    let hosts: Vec<&str> = hosts.split(',').collect();
    let listener = TcpListener::bind((hosts[rank], u16::try_from(port + rank)?))?;
    let to = (hosts[(rank + 1) % world], u16::try_from(port + (rank + 1) % world)?);
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
    let mut seconds = Vec::new();
    for _ in 0..rounds {
        ring.all_reduce(&together)?;
        let start = Instant::now();
        ring.all_reduce(&data)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let mut raw = f64::INFINITY;
    for _ in 0..rounds {
        ring.all_reduce(&together)?;
        raw = raw.min(ring.stream(bytes, (true, true), None)?.as_secs_f64());
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    let over = peak.map_or(0, |peak| peak.trim().parse::<usize>().unwrap_or(0)).saturating_sub(bytes >> 10);
    let factor = 2.0 * (world as f64 - 1.0) / world as f64;
    let carried = bytes as f64 * factor / 1e9;
    let (best, middle) = (carried / seconds[0], carried / seconds[rounds / 2]);
    println!("{rank} {best:.4} {:.4} {over} {wrong} {middle:.4}", bytes as f64 / raw / 1e9);
    Ok(())
}
