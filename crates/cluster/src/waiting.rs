//! Progress on standard error for waits of more than a second: a spinner on a terminal, otherwise one
//! line for each phase.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use diagnostic::terminal;
use diagnostic::visible::line;
use indicatif::{ProgressBar, ProgressStyle};

/// Shorter waits are not shown.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// Shows what is waited for until it is dropped.
pub struct Waiting {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// What is waited for, and since when; nothing is shown without.
    phase: Option<(String, Instant)>,
    /// What of the phase is left; only on a terminal.
    detail: String,
    /// Whether the phase has its line.
    noted: bool,
    bar: Option<ProgressBar>,
    ended: bool,
}

impl Waiting {
    /// Begins with a phase: `connecting to 4 machines`.
    pub fn new(phase: impl Into<String>) -> Waiting {
        let shared = Arc::new(Shared::default());
        let shown = shared.clone();
        let thread = std::thread::Builder::new().name("waiting".into()).spawn(move || shown.show()).ok();
        let waiting = Waiting { shared, thread };
        waiting.phase(phase);
        waiting
    }

    /// The next phase begins.
    pub fn phase(&self, phase: impl Into<String>) {
        let mut state = self.shared.state();
        state.phase = Some((phase.into(), Instant::now()));
        state.detail.clear();
        state.noted = false;
        if let Some(bar) = &state.bar {
            bar.reset_elapsed();
        }
        state.redraw();
        self.shared.changed.notify_all();
    }

    /// What of the phase is left: `node2, node3`.
    pub fn detail(&self, detail: impl Into<String>) {
        let mut state = self.shared.state();
        state.detail = detail.into();
        state.redraw();
    }

    /// Shows nothing until the next phase, so that a question can be asked.
    pub fn pause(&self) {
        let mut state = self.shared.state();
        state.phase = None;
        state.clear();
    }

    /// [`terminal::note`] without a spinner in its line.
    pub fn note(&self, text: &str) {
        match &self.shared.state().bar {
            Some(bar) => bar.suspend(|| terminal::note(text)),
            None => terminal::note(text),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.shared.state().ended = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.shared.state().clear();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until each phase has taken long enough to be shown.
    fn show(&self) {
        let mut state = self.state();
        while !state.ended {
            let left = match &state.phase {
                Some((_, since)) if !state.noted => SHOWN_AFTER.saturating_sub(since.elapsed()),
                _ => Duration::MAX,
            };
            if left.is_zero() {
                state.begin();
                continue;
            }
            state = match left {
                Duration::MAX => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                left => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }
}

/// Gives a bar its spinner, message and elapsed time, redrawn by a timer.
pub(crate) fn style_spinner(bar: &ProgressBar, unicode: bool) {
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed:.dim}") {
        bar.set_style(if unicode { style } else { style.tick_chars("|/-\\+") });
    }
    bar.enable_steady_tick(Duration::from_millis(120));
}

impl State {
    /// The phase gets its line or its spinner.
    fn begin(&mut self) {
        self.noted = true;
        let Some((phase, since)) = &self.phase else { return };
        if !terminal::redraws() {
            return terminal::note(&format!("{} ...", line(phase)));
        }
        if self.bar.is_none() {
            let bar = ProgressBar::new_spinner().with_elapsed(since.elapsed());
            style_spinner(&bar, terminal::unicode());
            self.bar = Some(bar);
        }
        self.redraw();
    }

    fn redraw(&self) {
        let (Some(bar), Some((phase, _))) = (&self.bar, &self.phase) else { return };
        let detail = if self.detail.is_empty() { String::new() } else { format!(": {}", self.detail) };
        bar.set_message(line(&format!("{phase}{detail}")).into_owned());
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
