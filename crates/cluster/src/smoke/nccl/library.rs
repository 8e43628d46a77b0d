//! libnccl and libcuda, opened by path, with the few functions that a rank needs. cudarc's own loader takes
//! names that no wheel installs and panics where one is missing, and its result types must not see a number
//! that is newer than they are.
#![expect(unsafe_code, reason = "foreign functions; each call says why it is sound")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use libloading::Library;

use super::error::Error;
use super::words;

/// Bytes of a unique id (NCCL_UNIQUE_ID_BYTES in nccl.h).
pub const ID: usize = 128;
/// `ncclFloat32` and `ncclSum` (nccl.h).
const FLOAT32: c_int = 7;
const SUM: c_int = 0;
/// `ncclSuccess` and `ncclInProgress`.
const SUCCESS: c_int = 0;
const IN_PROGRESS: c_int = 7;
/// How often NCCL is asked whether it is done.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// The first version whose communicators can be asked without blocking, as [`Config::version`] tells it:
/// 2.14.
const NONBLOCKING_SINCE: u32 = 21_400;
/// `CUDA_ERROR_NO_DEVICE` (cuda.h).
const CUDA_ERROR_NO_DEVICE: i32 = 100;
/// What a configuration begins with (NCCL_API_MAGIC in nccl.h).
const MAGIC: u32 = 0xcafe_beef;

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Id(pub [u8; ID]);

/// `ncclConfig_t` as NCCL 2.14 had it: later ones take it and fill in the rest (parseCommConfig in
/// NVIDIA/nccl:src/init.cc).
#[repr(C)]
struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: c_int,
}

/// A communicator. NCCL allows it to be used from any thread, one at a time.
#[derive(Debug, Clone, Copy)]
pub struct Communicator(*mut c_void);
// SAFETY: NCCL has no thread of its caller in it; the rank keeps it behind a lock.
unsafe impl Send for Communicator {}

type InitRank = unsafe extern "C" fn(*mut *mut c_void, c_int, Id, c_int) -> c_int;
type InitRankConfig = unsafe extern "C" fn(*mut *mut c_void, c_int, Id, c_int, *mut Config) -> c_int;
type AllReduce =
    unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, c_int, *mut c_void, *mut c_void) -> c_int;

/// libnccl, for the life of the process: it has threads of its own.
#[derive(Clone, Copy)]
pub struct Nccl {
    get_version: unsafe extern "C" fn(*mut c_int) -> c_int,
    get_unique_id: unsafe extern "C" fn(*mut Id) -> c_int,
    last_error: Option<unsafe extern "C" fn(*mut c_void) -> *const c_char>,
    init_rank: InitRank,
    init_rank_config: Option<InitRankConfig>,
    async_error: unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int,
    abort: unsafe extern "C" fn(*mut c_void) -> c_int,
    all_reduce: AllReduce,
}

/// Puts variables into the environment before a library reads it.
pub fn set_environment<'v>(variables: impl IntoIterator<Item = (&'v str, String)>) {
    for (name, value) in variables {
        // SAFETY: this process is a rank, which does one task at a time; nobody else reads the environment
        // meanwhile.
        unsafe { std::env::set_var(name, value) };
    }
}

fn symbol<T: Copy>(library: &Library, name: &CStr) -> Result<T, Error> {
    // SAFETY: every caller gives the type that nccl.h and cuda.h declare for the name.
    let found = unsafe { library.get::<T>(name.to_bytes_with_nul()) };
    found.map(|found| *found).map_err(|_| Error::NoSymbol(name.to_string_lossy().into_owned()))
}

impl Nccl {
    pub fn open(path: &Path) -> Result<Nccl, Error> {
        // SAFETY: it is the library that torch would load; what it does when it is loaded it would do there
        // too.
        let library = unsafe { Library::new(path) }.map_err(|error| Error::Load(dl_words(&error)))?;
        let nccl = Nccl {
            get_version: symbol(&library, c"ncclGetVersion")?,
            get_unique_id: symbol(&library, c"ncclGetUniqueId")?,
            last_error: symbol(&library, c"ncclGetLastError").ok(),
            init_rank: symbol(&library, c"ncclCommInitRank")?,
            init_rank_config: symbol(&library, c"ncclCommInitRankConfig").ok(),
            async_error: symbol(&library, c"ncclCommGetAsyncError")?,
            abort: symbol(&library, c"ncclCommAbort")?,
            all_reduce: symbol(&library, c"ncclAllReduce")?,
        };
        std::mem::forget(library);
        Ok(nccl)
    }

    /// Its version, which needs no GPU.
    pub fn version(&self) -> Result<i32, Error> {
        let mut version = 0;
        // SAFETY: it writes one int.
        match unsafe { (self.get_version)(&raw mut version) } {
            SUCCESS => Ok(version),
            code => Err(self.failed("ncclGetVersion", code, None)),
        }
    }

    pub fn unique_id(&self) -> Result<Id, Error> {
        let mut id = Id([0; ID]);
        // SAFETY: it writes 128 bytes.
        match unsafe { (self.get_unique_id)(&raw mut id) } {
            SUCCESS => Ok(id),
            code => Err(self.failed("ncclGetUniqueId", code, None)),
        }
    }

    /// Whether a communicator can be given up while it is made; else a call that hangs can only be ended with
    /// its process.
    pub fn can_be_given_up(&self) -> bool {
        self.init_rank_config.is_some() && self.version().is_ok_and(|version| version >= 21_400)
    }

    /// Joins; the GPU's context must be current on this thread.
    pub fn join(
        &self,
        id: Id,
        (number, world): (c_int, c_int),
        until: Instant,
    ) -> Result<Communicator, Error> {
        let mut communicator = std::ptr::null_mut();
        let started = match self.init_rank_config.filter(|_| self.can_be_given_up()) {
            Some(init) => {
                let mut config = Config {
                    size: size_of::<Config>(),
                    magic: MAGIC,
                    version: NONBLOCKING_SINCE,
                    blocking: 0,
                };
                // SAFETY: the configuration lives as long as the call, which copies it; the id is 128 bytes
                // by value.
                unsafe { init(&raw mut communicator, world, id, number, &raw mut config) }
            }
            // SAFETY: as above, without a configuration.
            None => unsafe { (self.init_rank)(&raw mut communicator, world, id, number) },
        };
        let communicator = Communicator(communicator);
        self.wait_until_done("ncclCommInitRank", started, communicator, until)?;
        Ok(communicator)
    }

    /// Sums in place on a stream; what it does there goes on when this is back.
    pub(super) fn all_reduce(
        &self,
        communicator: Communicator,
        (buffer, elements): (u64, usize),
        stream: *mut c_void,
        until: Instant,
    ) -> Result<(), Error> {
        let buffer = buffer as usize as *mut c_void;
        // SAFETY: the buffer is memory of the GPU of so many float32, which the caller keeps until the stream
        // is done.
        let started =
            unsafe { (self.all_reduce)(buffer, buffer, elements, FLOAT32, SUM, communicator.0, stream) };
        self.wait_until_done("ncclAllReduce", started, communicator, until)
    }

    /// Whether the communicator is still in order.
    pub fn in_order(&self, communicator: Communicator) -> Result<(), Error> {
        match self.state(communicator) {
            SUCCESS | IN_PROGRESS => Ok(()),
            code => Err(Error::Communicator { code, last: self.last_error(Some(communicator)) }),
        }
    }

    /// Gives the communicator up: kernels that wait for other ranks end.
    pub fn give_up(&self, communicator: Communicator) {
        if !communicator.0.is_null() {
            // SAFETY: it is a communicator of this library, and nobody uses it after this.
            unsafe { (self.abort)(communicator.0) };
        }
    }

    fn state(&self, communicator: Communicator) -> c_int {
        let mut code = SUCCESS;
        if communicator.0.is_null() {
            return code;
        }
        // SAFETY: a communicator of this library; it writes one int.
        match unsafe { (self.async_error)(communicator.0, &raw mut code) } {
            SUCCESS => code,
            failed => failed,
        }
    }

    /// Waits until what was started is done, as a communicator that does not block tells it.
    fn wait_until_done(
        &self,
        call: &'static str,
        started: c_int,
        communicator: Communicator,
        until: Instant,
    ) -> Result<(), Error> {
        let mut code = started;
        while code == IN_PROGRESS {
            if Instant::now() > until {
                self.give_up(communicator);
                return Err(Error::CallTimedOut(call));
            }
            std::thread::sleep(POLL_INTERVAL);
            code = self.state(communicator);
        }
        match code {
            SUCCESS => Ok(()),
            code => {
                let failed = self.failed(call, code, Some(communicator));
                self.give_up(communicator);
                Err(failed)
            }
        }
    }

    fn failed(&self, call: &'static str, code: c_int, communicator: Option<Communicator>) -> Error {
        Error::Call { call, code, last: self.last_error(communicator) }
    }

    /// NCCL's own text, unless it is empty.
    fn last_error(&self, communicator: Option<Communicator>) -> Option<String> {
        let last = self.last_error?;
        // SAFETY: it takes no communicator too, and gives a string that lives until the next error, or none.
        let text = unsafe { last(communicator.map_or(std::ptr::null_mut(), |communicator| communicator.0)) };
        if text.is_null() {
            return None;
        }
        // SAFETY: see above.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned();
        (!text.is_empty()).then_some(text)
    }
}

/// The functions of libcuda that cudarc calls for a rank (`sys::cu…` in cudarc:src/driver/safe/core.rs and
/// result.rs). It panics where the driver lacks one. Those of memory pools are not among them: it asks the
/// driver whether it has pools.
const USED_BY_CUDARC: [&CStr; 23] = [
    c"cuCtxGetCurrent",
    c"cuCtxSetCurrent",
    c"cuCtxSynchronize",
    c"cuDeviceGet",
    c"cuDeviceGetAttribute",
    c"cuDeviceGetName",
    c"cuDevicePrimaryCtxRelease_v2",
    c"cuDevicePrimaryCtxRetain",
    c"cuEventCreate",
    c"cuEventDestroy_v2",
    c"cuEventQuery",
    c"cuEventRecord",
    c"cuEventSynchronize",
    c"cuMemAlloc_v2",
    c"cuMemFree_v2",
    c"cuMemGetInfo_v2",
    c"cuMemcpyDtoHAsync_v2",
    c"cuMemcpyHtoDAsync_v2",
    c"cuMemsetD8Async",
    c"cuStreamCreate",
    c"cuStreamDestroy_v2",
    c"cuStreamSynchronize",
    c"cuStreamWaitEvent",
];

/// What libcuda says before anything of it is used: `Ok` with the number of GPUs and the CUDA version that it
/// is for. After `Ok` it has every function that [`USED_BY_CUDARC`] names.
pub fn cuda() -> Result<(usize, String), Error> {
    // SAFETY: the driver's library, by the name that its package installs. It stays loaded: it has threads.
    let library =
        unsafe { Library::new("libcuda.so.1") }.map(std::mem::ManuallyDrop::new).map_err(|error| {
            let message = dl_words(&error);
            match message.contains("cannot open shared object file") {
                true => Error::NoDriverLibrary,
                false => Error::DriverLibrary(message),
            }
        })?;
    type Init = unsafe extern "C" fn(u32) -> c_int;
    type Number = unsafe extern "C" fn(*mut c_int) -> c_int;
    let (init, version, count): (Init, Number, Number) = (
        symbol(&library, c"cuInit")?,
        symbol(&library, c"cuDriverGetVersion")?,
        symbol(&library, c"cuDeviceGetCount")?,
    );
    let (mut number, mut devices) = (0, 0);
    // SAFETY: it takes flags, which must be 0.
    let code = unsafe { init(0) };
    if code != 0 {
        return Err(Error::Init(code));
    }
    // SAFETY: both write one int.
    let codes = unsafe { [version(&raw mut number), count(&raw mut devices)] };
    if let Some(code) = codes.into_iter().find(|code| *code != 0) {
        return Err(Error::Libcuda(code));
    }
    let Some(devices) = usize::try_from(devices).ok().filter(|devices| *devices > 0) else {
        return Err(Error::Cuda(CUDA_ERROR_NO_DEVICE));
    };
    for name in USED_BY_CUDARC {
        symbol::<*const c_void>(&library, name)
            .map_err(|_| Error::DriverSymbol(name.to_string_lossy().into_owned()))?;
    }
    Ok((devices, words::cuda_version(number)))
}

/// Whether a library can be loaded.
pub fn loads(name: &str) -> bool {
    // SAFETY: only asked for libibverbs, whose loading does nothing.
    unsafe { Library::new(name) }.is_ok()
}

/// The loader's words alone.
fn dl_words(error: &libloading::Error) -> String {
    use std::error::Error as _;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// A file without a name, for NCCL to write its log to: the path by which it opens it.
pub fn nameless() -> std::io::Result<(OwnedFd, String)> {
    use std::os::fd::AsRawFd;
    let file = rustix::fs::memfd_create("nccl-debug", rustix::fs::MemfdFlags::CLOEXEC)?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok((file, path))
}
