//! Diagnosis of recorded logs.

mod flight_recorder;
mod fuzz;
mod logs;
mod logs_changed;
