//! Images: the service behind `envdoc render`, `envdoc build` and `envdoc inspect`.
//!
//! A [`PlanRequest`] (request file, options, machines, lock) becomes a plan, or the reason that there is no
//! stack: [`plan`]. A [`BuildRequest`] is checked, planned and becomes a [`BuildPlan`], in which nothing is
//! left to choose: [`prepare`]. [`execute::run`] builds it on an engine, verifies the image, tags and pushes
//! it, and returns one report for each platform.
//!
//! In: requests, the catalog, engines and registries. Out: plans, files, built images, reports. Nothing is
//! printed here.
//!
//! [`inspect`] describes an image of an engine or a registry.
//!
//! Usage errors are found before any engine or registry is asked.

mod base_image;
mod build_plan;
mod build_request;
mod cache;
mod context;
mod declared;
mod dry_run;
pub mod execute;
mod host_mirrors;
mod image_index;
pub mod inspect;
pub mod lock_file;
mod machines;
mod plan;
mod platforms;
mod project_lock;
mod registry;
pub mod request_file;
mod settings_mirrors;
mod smallest_change;

pub use build_plan::{BuildPlan, ImageBuild, Prepared, prepare};
pub use build_request::{BuildRequest, Source};
pub use declared::ProjectRequest;
pub use lock_file::LockRequest;
pub use machines::{Machines, ReadMachine, Requirements};
pub use plan::{NoStack, PlanRequest, Planned, PlannedImage, plan, requirements};
pub use settings_mirrors::{SettingsMirror, SettingsMirrors, UntrustedMirror};
pub use smallest_change::{SmallestChange, smallest_change};
