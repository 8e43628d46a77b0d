//! The GPU of a rank: the only file that names cudarc, which panics where the driver lacks a function.
//! [`library::cuda`] looks for them first.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DriverError};

use super::error::Error;
use super::library::{self, Communicator, Nccl};
use crate::smoke::gpu::Gpu;
use host::file;

/// How often the GPU is asked whether it is done: as often as there is nothing else to do, for the first
/// moments.
const SPIN_TIME: Duration = Duration::from_millis(5);

/// A GPU in use.
pub struct Device {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
}

/// Opens a GPU, and says what it is.
pub fn open(device: usize) -> Result<(Device, Gpu), Error> {
    let (count, cuda) = library::cuda()?;
    if device >= count {
        return Err(Error::NoDevice { device, count });
    }
    let context = CudaContext::new(device)?;
    let stream = context.new_stream()?;
    let (free, total) = context.mem_get_info()?;
    let (name, capability) = (context.name()?, context.compute_capability()?);
    let name = name.trim_end_matches('\0').to_owned();
    let gpu = Gpu { count, name, capability, cuda, driver: kernel_module(), free, total };
    Ok((Device { context, stream }, gpu))
}

/// Elements that are summed on it.
pub struct Buffer(CudaSlice<f32>);

impl Device {
    /// Makes it this thread's: NCCL takes the GPU that is current.
    pub fn enter(&self) -> Result<(), Error> {
        Ok(self.context.bind_to_thread()?)
    }

    /// These numbers on the GPU.
    pub fn put(&self, numbers: &[f32]) -> Result<Buffer, Error> {
        Ok(Buffer(self.stream.clone_htod(numbers)?))
    }

    /// They come back.
    pub fn get(&self, buffer: &Buffer) -> Result<Vec<f32>, Error> {
        Ok(self.stream.clone_dtoh(&buffer.0)?)
    }

    /// Nothing but zeros.
    pub fn zero(&self, buffer: &mut Buffer) -> Result<(), Error> {
        Ok(self.stream.memset_zeros(&mut buffer.0)?)
    }

    /// Sums, some rounds one right after the other. The GPU goes on when this is back.
    pub fn sum(
        &self,
        nccl: &Nccl,
        communicator: Communicator,
        buffer: &Buffer,
        rounds: usize,
        until: Instant,
    ) -> Result<(), Error> {
        self.enter()?;
        let (pointer, _held) = buffer.0.device_ptr(&self.stream);
        for _ in 0..rounds {
            let data = (pointer, buffer.0.len());
            nccl.all_reduce(communicator, data, self.stream.cu_stream().cast(), until)?;
        }
        Ok(())
    }

    /// Until the GPU has done everything.
    pub fn wait(&self, nccl: &Nccl, communicator: Communicator, until: Instant) -> Result<(), Error> {
        let start = Instant::now();
        let event = self.stream.record_event(None)?;
        while !event.try_is_complete()? {
            let now = Instant::now();
            if now > until {
                nccl.give_up(communicator);
                return Err(Error::Hangs(now - start));
            }
            if now - start > SPIN_TIME {
                nccl.in_order(communicator).inspect_err(|_| nccl.give_up(communicator))?;
                std::thread::sleep(Duration::from_micros(50));
            }
        }
        Ok(())
    }
}

/// `570.86.15`, as /proc tells it.
fn kernel_module() -> Option<String> {
    let text = file::read(Path::new("/proc/driver/nvidia/version")).ok()??;
    // `NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  …`
    let words = text.lines().next()?.split_whitespace();
    let number = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    words.into_iter().find(number).map(str::to_owned)
}

impl From<DriverError> for Error {
    fn from(DriverError(code): DriverError) -> Error {
        Error::Cuda(code as i32)
    }
}
