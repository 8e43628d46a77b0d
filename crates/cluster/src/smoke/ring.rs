//! An all-reduce (float32, sum) over plain sockets: every rank has one connection to the rank on its right
//! and one from the rank on its left, and sends 2(n-1)/n of the data, the least that is possible.
//!
//! The data lies in as many segments as there are ranks. In step `t` of 2(n-1) a rank sends segment `rank -
//! t` to the right and takes segment `rank - t - 1` from the left: in the first n-1 steps it adds what comes
//! to its own (reduce-scatter), in the others it takes it over (all-gather). What a step receives is what the
//! next one sends, so segments go in slices: a slice is sent on as soon as it was reduced, while the rest of
//! its segment is still under way.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use super::broken::{self, Fault};
use super::counters::ThreadTimes;
use super::pace::PACED_BLOCK_BYTES;
pub use super::pace::Pace;
use super::pattern;
use super::sum::add;

/// Elements of a slice: 256 KiB, which stay in the processor's cache between being received, added and sent
/// on.
const SLICE_ELEMENTS: usize = 64 << 10;
/// Bytes that a socket surely takes without its other end reading; up to here no second thread is needed.
/// Linux begins with 16 KiB for sending and 128 KiB for receiving (net.ipv4.tcp_wmem and tcp_rmem,
/// Documentation/networking/ip-sysctl.rst).
const UNBUFFERED_LIMIT_BYTES: usize = 16 << 10;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Nothing could be sent to this rank.
    #[error("sending to rank {rank}: {why}")]
    Sending {
        /// The rank on the right.
        rank: usize,
        why: Fault,
    },
    /// Nothing came from this rank.
    #[error("receiving from rank {rank}: {why}")]
    Receiving {
        /// The rank on the left.
        rank: usize,
        why: Fault,
    },
}

/// How long a stream took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Streamed {
    /// Until everything had come from the left, or had gone to the right where nothing was to come.
    pub elapsed: Duration,
    /// Seconds of it that are not the network's: until the first byte came, which is when the other rank
    /// began, and in which a thread of the stream was ready to run and waited for a processor.
    pub waited: f64,
}

/// A rank of a ring.
#[derive(Debug)]
pub struct Ring {
    rank: usize,
    world: usize,
    right: TcpStream,
    left: TcpStream,
    stall: Duration,
    scratch: Vec<f32>,
}

/// The data of a rank: its segments, each in slices. A slice has a lock of its own, because it is reduced by
/// one thread and sent by another.
#[derive(Debug)]
pub struct Data {
    segments: Vec<Vec<Mutex<Vec<f32>>>>,
    /// Elements before each segment.
    starts: Vec<usize>,
}

impl Data {
    /// Room for so many elements, for a ring of so many ranks.
    pub fn new(elements: usize, world: usize) -> Data {
        let (mut segments, mut starts, mut start) = (Vec::new(), Vec::new(), 0);
        for segment in 0..world {
            let length = elements / world + usize::from(segment < elements % world);
            let slices =
                (0..length).step_by(SLICE_ELEMENTS).map(|at| vec![0.0; SLICE_ELEMENTS.min(length - at)]);
            segments.push(slices.map(Mutex::new).collect());
            starts.push(start);
            start += length;
        }
        Data { segments, starts }
    }

    /// Writes the elements of a rank.
    pub fn fill(&mut self, rank: usize) {
        self.each(|start, slice| {
            slice.fill(0.0);
            pattern::add(rank, start, slice);
        });
    }

    /// Nothing but zeros.
    pub fn zero(&mut self) {
        self.each(|_, slice| slice.fill(0.0));
    }

    /// Elements that are not the sum of all ranks: how many, and the first.
    pub fn wrong(&mut self, world: usize) -> (usize, Option<usize>) {
        let (mut count, mut first) = (0, None);
        self.each(|start, slice| {
            let (here, first_here) = pattern::wrong(world, start, slice);
            count += here;
            first = first.or(first_here);
        });
        (count, first)
    }

    /// Flips the bits of one byte, as a bad cable would: for tests of what is found then.
    pub fn corrupt(&mut self, index: usize) {
        self.each(|start, slice| {
            if let Some(value) = index.checked_sub(start).and_then(|at| slice.get_mut(at)) {
                *value = f32::from_bits(value.to_bits() ^ 0x00ff_0000);
            }
        });
    }

    /// Visits every slice, with the index of its first element.
    fn each(&mut self, mut visit: impl FnMut(usize, &mut [f32])) {
        for (segment, start) in self.segments.iter_mut().zip(&self.starts) {
            let mut index = *start;
            for slice in segment {
                // Nobody else holds it: this borrow is exclusive.
                let slice = slice.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
                visit(index, slice);
                index += slice.len();
            }
        }
    }
}

impl Ring {
    /// A rank with its two connections; a rank alone needs none and has nothing to do, so there are at least
    /// two. `stall` is the longest that a connection may stall.
    pub fn new(
        rank: usize,
        world: usize,
        right: TcpStream,
        left: TcpStream,
        stall: Duration,
    ) -> std::io::Result<Ring> {
        for stream in [&right, &left] {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(stall))?;
            stream.set_write_timeout(Some(stall))?;
        }
        Ok(Ring { rank, world, right, left, stall, scratch: vec![0.0; SLICE_ELEMENTS] })
    }

    /// An all-reduce that waits so much longer for a rank that is busy with its own part.
    pub fn meet(&mut self, data: &Data, longer: Duration) -> Result<(), Broken> {
        let (from, stall) = ((self.rank + self.world - 1) % self.world, self.stall);
        let limit = |left: &TcpStream, limit| {
            let failed = |error: std::io::Error| Broken::Receiving { rank: from, why: (&error).into() };
            left.set_read_timeout(Some(limit)).map_err(failed)
        };
        limit(&self.left, stall + longer)?;
        self.all_reduce(data)?;
        limit(&self.left, stall)
    }

    /// Sums the data of all ranks; every rank has the sum after it.
    pub fn all_reduce(&mut self, data: &Data) -> Result<(), Broken> {
        let largest =
            data.segments.first().map_or(0, |slices| slices.iter().map(|slice| hold(slice).len()).sum());
        if largest * size_of::<f32>() <= UNBUFFERED_LIMIT_BYTES {
            return self.one_after_the_other(data);
        }
        let (rank, world) = (self.rank, self.world);
        let right = &mut self.right;
        let (reduced, ready) = mpsc::channel();
        std::thread::scope(|scope| {
            let sending = scope.spawn(move || send_all(rank, world, right, data, &ready));
            let received = receive_all(rank, world, &mut self.left, &mut self.scratch, data, |step| {
                // Where the sender has given up it says so itself.
                let _ = if step + 1 < steps(world) { reduced.send(()) } else { Ok(()) };
            });
            drop(reduced);
            let sent = sending
                .join()
                .unwrap_or_else(|_| Err(Broken::Sending { rank: (rank + 1) % world, why: panicked() }));
            received.and(sent)
        })
    }

    /// Sends so many bytes to the right, or takes as many from the left, or both at once: what the path
    /// carries.
    pub fn stream(
        &mut self,
        bytes: usize,
        (sends, receives): (bool, bool),
        pace: Option<Pace>,
    ) -> Result<Streamed, Broken> {
        let start = Instant::now();
        let (rank, world) = (self.rank, self.world);
        let right = &mut self.right;
        std::thread::scope(|scope| {
            let sending = sends.then(|| {
                scope.spawn(move || {
                    let before = ThreadTimes::now();
                    send_zeros(rank, world, right, bytes, pace).map(|()| ThreadTimes::waited_since(before))
                })
            });
            let mut left = if receives { bytes } else { 0 };
            let scratch: &mut [u8] = bytemuck::cast_slice_mut(&mut self.scratch);
            let failed = |error: std::io::Error| receiving_failed(rank, world, &error);
            let mut waited = 0.0;
            if left > 0 {
                self.left.peek(&mut [0]).map_err(failed)?;
                waited += start.elapsed().as_secs_f64();
            }
            let before = ThreadTimes::now();
            while left > 0 {
                let now = left.min(scratch.len());
                self.left.read_exact(&mut scratch[..now]).map_err(failed)?;
                left -= now;
            }
            let came = start.elapsed();
            waited += ThreadTimes::waited_since(before);
            let Some(sending) = sending else { return Ok(Streamed { elapsed: came, waited }) };
            let sent = sending
                .join()
                .unwrap_or_else(|_| Err(Broken::Sending { rank: (rank + 1) % world, why: panicked() }));
            waited += sent?;
            Ok(Streamed { elapsed: if receives { came } else { start.elapsed() }, waited })
        })
    }

    /// For little data: what is sent fits into the socket, so that nobody waits for anybody.
    fn one_after_the_other(&mut self, data: &Data) -> Result<(), Broken> {
        let (rank, world) = (self.rank, self.world);
        for step in 0..steps(world) {
            for slice in &data.segments[sent(rank, world, step)] {
                self.right
                    .write_all(bytemuck::cast_slice(&hold(slice)))
                    .map_err(|error| sending_failed(rank, world, &error))?;
            }
            receive(rank, world, step, &mut self.left, &mut self.scratch, data, |_| {})?;
        }
        Ok(())
    }
}

/// Steps of an all-reduce.
fn steps(world: usize) -> usize {
    2 * (world - 1)
}

/// The segment that a rank sends in a step; it receives the one before it.
fn sent(rank: usize, world: usize, step: usize) -> usize {
    (rank + 2 * world - step) % world
}

/// A panic of the other thread ends the whole all-reduce anyway.
fn hold(slice: &Mutex<Vec<f32>>) -> std::sync::MutexGuard<'_, Vec<f32>> {
    slice.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn send_zeros(
    rank: usize,
    world: usize,
    right: &mut TcpStream,
    bytes: usize,
    pace: Option<Pace>,
) -> Result<(), Broken> {
    let block = vec![0_u8; pace.map_or(SLICE_ELEMENTS * size_of::<f32>(), |_| PACED_BLOCK_BYTES)];
    let (start, mut left) = (Instant::now(), bytes);
    while left > 0 {
        if let Some(Pace { seconds_per_byte }) = pace {
            let due = Duration::from_secs_f64((bytes - left) as f64 * seconds_per_byte);
            std::thread::sleep(due.saturating_sub(start.elapsed()));
        }
        let now = left.min(block.len());
        right.write_all(&block[..now]).map_err(|error| sending_failed(rank, world, &error))?;
        left -= now;
    }
    Ok(())
}

fn send_all(
    rank: usize,
    world: usize,
    right: &mut TcpStream,
    data: &Data,
    ready: &Receiver<()>,
) -> Result<(), Broken> {
    for step in 0..steps(world) {
        for slice in &data.segments[sent(rank, world, step)] {
            if step > 0 && ready.recv().is_err() {
                // The receiving side has given up, and tells why.
                return Ok(());
            }
            right
                .write_all(bytemuck::cast_slice(&hold(slice)))
                .map_err(|error| sending_failed(rank, world, &error))?;
        }
    }
    Ok(())
}

fn receive_all(
    rank: usize,
    world: usize,
    left: &mut TcpStream,
    scratch: &mut [f32],
    data: &Data,
    mut done: impl FnMut(usize),
) -> Result<(), Broken> {
    for step in 0..steps(world) {
        receive(rank, world, step, left, scratch, data, &mut done)?;
    }
    Ok(())
}

fn receive(
    rank: usize,
    world: usize,
    step: usize,
    left: &mut TcpStream,
    scratch: &mut [f32],
    data: &Data,
    mut done: impl FnMut(usize),
) -> Result<(), Broken> {
    let reduces = step < world - 1;
    for slice in &data.segments[sent(rank, world, step + 1)] {
        let length = hold(slice).len();
        let came = &mut scratch[..length];
        left.read_exact(bytemuck::cast_slice_mut(came))
            .map_err(|error| receiving_failed(rank, world, &error))?;
        let mut own = hold(slice);
        if reduces {
            add(&mut own, came);
        } else {
            own.copy_from_slice(came);
        }
        drop(own);
        done(step);
    }
    Ok(())
}

fn sending_failed(rank: usize, world: usize, error: &std::io::Error) -> Broken {
    Broken::Sending { rank: (rank + 1) % world, why: error.into() }
}

fn receiving_failed(rank: usize, world: usize, error: &std::io::Error) -> Broken {
    Broken::Receiving { rank: (rank + world - 1) % world, why: error.into() }
}

impl From<Broken> for broken::Broken {
    fn from(error: Broken) -> broken::Broken {
        match error {
            Broken::Sending { rank, why } => broken::Broken::Sending { rank, why },
            Broken::Receiving { rank, why } => broken::Broken::Receiving { rank, why },
        }
    }
}

fn panicked() -> Fault {
    Fault::System("the sending thread panicked".into())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use proptest::prelude::*;

    use super::*;

    /// Of rings that hold: 64 ranks on a busy machine wait long for a processor.
    const STALL: Duration = Duration::from_secs(120);

    /// A ring of so many ranks on the loopback.
    #[expect(clippy::disallowed_methods, reason = "the ranks of this test are threads of its own")]
    fn ring(world: usize, stall: Duration) -> Vec<Ring> {
        let listeners: Vec<TcpListener> =
            (0..world).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let right: Vec<TcpStream> = (0..world)
            .map(|rank| TcpStream::connect(listeners[(rank + 1) % world].local_addr().unwrap()).unwrap())
            .collect();
        let left = listeners.iter().map(|listener| listener.accept().unwrap().0);
        right
            .into_iter()
            .zip(left)
            .enumerate()
            .map(|(rank, (right, left))| Ring::new(rank, world, right, left, stall).unwrap())
            .collect()
    }

    /// What every rank finds wrong after an all-reduce of so many elements.
    fn reduced(world: usize, elements: usize, corrupt: Option<usize>) -> Vec<(usize, Option<usize>)> {
        let ranks = ring(world, STALL).into_iter().map(|mut rank| {
            std::thread::spawn(move || {
                let mut data = Data::new(elements, world);
                data.fill(rank.rank);
                if let Some(index) = corrupt.filter(|_| rank.rank == world - 1) {
                    data.corrupt(index);
                }
                rank.all_reduce(&data).unwrap();
                data.wrong(world)
            })
        });
        let ranks: Vec<_> = ranks.collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
        #[test]
        fn every_element_on_every_rank_is_the_sum(world in 2_usize..9, elements in 0_usize..200_000) {
            prop_assert_eq!(reduced(world, elements, None), vec![(0, None); world]);
        }

        #[test]
        fn all_reduce_sums_with_many_ranks(world in 9_usize..65, elements in 0_usize..20_000) {
            prop_assert_eq!(reduced(world, elements, None), vec![(0, None); world]);
        }
    }

    #[test]
    fn all_reduce_handles_uneven_chunks_and_large_data() {
        for (world, elements) in
            [(2, 1), (3, 2), (5, 3), (64, 1000), (64, 63), (3, 1_000_003), (2, 4 * SLICE_ELEMENTS)]
        {
            assert_eq!(reduced(world, elements, None), vec![(0, None); world], "{world} ranks, {elements}");
        }
    }

    #[test]
    fn a_corrupted_byte_is_found_by_every_rank() {
        for elements in [1000, 300_000] {
            assert_eq!(reduced(3, elements, Some(777)), vec![(1, Some(777)); 3]);
        }
    }

    #[test]
    fn names_disconnected_and_stalled_ranks() {
        for elements in [10, 1_000_000] {
            let mut ranks = ring(3, Duration::from_millis(300));
            let silent = ranks.remove(1);
            let broken: Vec<Broken> = std::thread::scope(|scope| {
                let started: Vec<_> = ranks
                    .iter_mut()
                    .map(|rank| scope.spawn(move || rank.all_reduce(&Data::new(elements, 3)).unwrap_err()))
                    .collect();
                started.into_iter().map(|rank| rank.join().unwrap()).collect()
            });
            let at_two = Broken::Receiving { rank: 1, why: Fault::Stalled };
            assert!(broken.contains(&at_two), "{broken:?}");
            drop(silent);
        }
        let mut ranks = ring(2, STALL);
        drop(ranks.pop());
        let error = ranks[0].all_reduce(&Data::new(10, 2)).unwrap_err();
        assert!(
            matches!(&error, Broken::Receiving { rank: 1, .. } | Broken::Sending { rank: 1, .. }),
            "{error:?}"
        );
    }

    #[test]
    fn barrier_waits_for_a_slow_rank() {
        let mut ranks = ring(2, Duration::from_secs(1));
        let (mut late, mut early) = (ranks.pop().unwrap(), ranks.pop().unwrap());
        std::thread::scope(|scope| {
            let waits = scope.spawn(move || {
                early.meet(&Data::new(2, 2), Duration::from_secs(60)).unwrap();
                // After it a silent rank is a stalled connection again.
                (early.all_reduce(&Data::new(2, 2)), early)
            });
            std::thread::sleep(Duration::from_secs(3));
            late.meet(&Data::new(2, 2), Duration::from_secs(60)).unwrap();
            let stalled = Broken::Receiving { rank: 1, why: Fault::Stalled };
            assert_eq!(waits.join().unwrap().0, Err(stalled));
        });
    }

    #[test]
    fn the_raw_path_carries_as_many_bytes_as_asked() {
        let mut ranks = ring(3, STALL);
        for alone in [None, Some(0), Some(2)] {
            std::thread::scope(|scope| {
                let started: Vec<_> = ranks
                    .iter_mut()
                    .map(|rank| {
                        let sends = alone.is_none_or(|alone| rank.rank == alone);
                        let receives = alone.is_none_or(|alone| rank.rank == (alone + 1) % 3);
                        scope.spawn(move || rank.stream(5_000_001, (sends, receives), None))
                    })
                    .collect();
                assert!(started.into_iter().all(|rank| rank.join().unwrap().is_ok()));
            });
        }
        assert_eq!(reduced(3, 1000, None), vec![(0, None); 3]);
    }

    #[test]
    fn a_late_sender_is_not_the_time_of_the_path() {
        let mut ranks = ring(2, STALL);
        let [sends, receives] = &mut ranks[..] else { panic!("two ranks") };
        std::thread::scope(|scope| {
            let late = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(300));
                sends.stream(1 << 18, (true, false), None)
            });
            let Streamed { elapsed, waited } = receives.stream(1 << 18, (false, true), None).unwrap();
            assert!(late.join().unwrap().is_ok());
            assert!(waited >= 0.28 && elapsed.as_secs_f64() >= waited, "{elapsed:?} {waited}");
        });
    }

    #[test]
    fn a_pace_is_kept() {
        let mut ranks = ring(2, STALL);
        let start = Instant::now();
        std::thread::scope(|scope| {
            let started: Vec<_> = ranks
                .iter_mut()
                .map(|rank| scope.spawn(|| rank.stream(1 << 18, (true, true), Some(Pace::new(1e6)))))
                .collect();
            assert!(started.into_iter().all(|rank| rank.join().unwrap().is_ok()));
        });
        // The last block of 16 is due after 15 of them.
        assert!(start.elapsed() >= Duration::from_millis(245), "{:?}", start.elapsed());
    }
}
