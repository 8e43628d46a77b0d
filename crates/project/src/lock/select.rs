//! What of a lock is installed on a machine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use resolve::marker::{Environment, Marker};

use super::{Edge, Lock, Locked, LockedSource, Roots, Target};
use crate::error::ProjectError;

/// The group of a project's own dependencies in `poetry.lock`.
const MAIN: &str = "main";

impl Lock {
    /// The packages that are installed, without the project itself, in the order of the file; those that come
    /// from elsewhere than an index too.
    ///
    /// # Errors
    ///
    /// A marker of the file cannot be evaluated.
    pub fn selected(&self, target: Target<'_>) -> Result<Vec<&Locked>, ProjectError> {
        let mut active = active(self, target);
        let mut excluded = BTreeSet::new();
        loop {
            let mut walk = Walk::new(self, target, active)?;
            walk.excluded = excluded;
            walk.whole()?;
            let more = if self.needs_declared() { walk.other_versions()? } else { BTreeSet::new() };
            // An extra that a package enables on the way may make other markers hold.
            if walk.enabled.is_subset(&walk.active) && more.is_empty() {
                let installed = |one: &&Locked| one.version.is_some() && one.source != LockedSource::Own;
                return Ok(walk.found.iter().map(|index| &self.packages[*index]).filter(installed).collect());
            }
            active = walk.active;
            active.extend(walk.enabled);
            excluded = walk.excluded;
            excluded.extend(more);
        }
    }

    /// The directories of packages that the project requires and that lie in the repository, relative to the
    /// lock, without its own: whatever markers say.
    pub(crate) fn directories(&self) -> Vec<&str> {
        let Roots::Packages(roots) = &self.roots else { return Vec::new() };
        let mut local: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, one) in self.packages.iter().enumerate().filter(|(_, one)| one.directory.is_some()) {
            local.entry(&one.name).or_default().push(index);
        }
        let mut found: Vec<usize> = roots.clone();
        let mut seen: BTreeSet<usize> = roots.iter().copied().collect();
        let mut next = 0;
        while let Some(index) = found.get(next).copied() {
            for edge in &self.packages[index].dependencies {
                let required = local.get(edge.name.as_str()).into_iter().flatten();
                found.extend(required.filter(|index| seen.insert(**index)));
            }
            next += 1;
        }
        let directories = found.iter().filter_map(|index| self.packages[*index].directory.as_deref());
        directories.filter(|directory| *directory != ".").collect()
    }

    /// Whether it was made for a Python and a processor, among others.
    ///
    /// # Errors
    ///
    /// A marker of the file cannot be evaluated.
    pub fn supports(&self, python: u32, architecture: &str) -> Result<bool, ProjectError> {
        if self.environments.is_empty() {
            return Ok(true);
        }
        let target = Target { python, architecture, extras: &[], groups: &[], declared: &[] };
        let mut walk = Walk::new(self, target, BTreeSet::new())?;
        for marker in &self.environments {
            if walk.holds(marker, &[], 1)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the dependencies that the project declares are needed to select packages.
    pub fn needs_declared(&self) -> bool {
        self.roots == Roots::Declared
    }
}

/// A walk from the roots along what they require.
struct Walk<'l> {
    lock: &'l Lock,
    target: Target<'l>,
    environment: Environment,
    /// Extras by which markers are evaluated.
    active: BTreeSet<String>,
    /// The same of what packages enable on the way.
    enabled: BTreeSet<String>,
    by_name: BTreeMap<&'l str, Vec<usize>>,
    /// What each marker was evaluated to.
    markers: BTreeMap<String, bool>,
    /// Packages, and extras of them, whose requirements are still to be looked at.
    queue: VecDeque<(usize, Option<String>)>,
    seen: BTreeSet<(usize, Option<String>)>,
    /// Requirements that were followed: a file may repeat one many times.
    followed: BTreeSet<&'l Edge>,
    /// Those of them whose markers hold.
    held: Vec<&'l Edge>,
    /// Packages that are not installed.
    excluded: BTreeSet<usize>,
    found: BTreeSet<usize>,
}

impl<'l> Walk<'l> {
    fn new(lock: &'l Lock, target: Target<'l>, active: BTreeSet<String>) -> Result<Walk<'l>, ProjectError> {
        let environment = Environment::new(target.python, target.architecture)
            .map_err(|why| ProjectError::LockEnvironment { file: lock.file.clone(), why })?;
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, one) in lock.packages.iter().enumerate() {
            by_name.entry(&one.name).or_default().push(index);
        }
        Ok(Walk {
            lock,
            target,
            environment,
            active,
            enabled: BTreeSet::new(),
            by_name,
            markers: BTreeMap::new(),
            queue: VecDeque::new(),
            seen: BTreeSet::new(),
            followed: BTreeSet::new(),
            held: Vec::new(),
            excluded: BTreeSet::new(),
            found: BTreeSet::new(),
        })
    }

    fn whole(&mut self) -> Result<(), ProjectError> {
        let lock = self.lock;
        match &lock.roots {
            Roots::Everything => {
                for (index, one) in lock.packages.iter().enumerate() {
                    if self.holds_itself(one)? {
                        self.found.insert(index);
                    }
                }
            }
            Roots::Packages(roots) => {
                for root in roots {
                    self.root(*root)?;
                }
            }
            Roots::Declared => {
                for edge in self.target.declared {
                    self.edge(edge, 0)?;
                }
            }
        }
        self.rest()
    }

    fn root(&mut self, root: usize) -> Result<(), ProjectError> {
        let package: &'l Locked = &self.lock.packages[root];
        self.push(root, None);
        for extra in self.target.extras {
            self.push(root, Some(extra.clone()));
        }
        let only = matches!(&self.lock.roots, Roots::Packages(roots) if roots.len() == 1);
        let missing = self.target.extras.iter().find(|extra| !package.extras.contains_key(*extra));
        if let Some(extra) = missing.filter(|_| only) {
            let (file, name) = (self.lock.file.clone(), extra.clone());
            return Err(ProjectError::NotLocked { file, name, command: self.lock.format.command() });
        }
        for group in self.target.groups {
            for edge in package.groups.get(group).into_iter().flatten() {
                self.edge(edge, package.line)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, index: usize, extra: Option<String>) {
        if self.seen.insert((index, extra.clone())) {
            self.found.insert(index);
            self.queue.push_back((index, extra));
        }
    }

    fn rest(&mut self) -> Result<(), ProjectError> {
        while let Some((index, extra)) = self.queue.pop_front() {
            let package: &'l Locked = &self.lock.packages[index];
            let edges: Option<&'l Vec<Edge>> = match &extra {
                None => Some(&package.dependencies),
                Some(extra) => package.extras.get(extra),
            };
            for edge in edges.into_iter().flatten() {
                self.edge(edge, package.line)?;
            }
        }
        Ok(())
    }

    /// Follows a requirement, where its marker holds.
    fn edge(&mut self, edge: &'l Edge, line: usize) -> Result<(), ProjectError> {
        if !self.followed.insert(edge) {
            return Ok(());
        }
        let enabled: Vec<String> = edge.extras.iter().map(|one| coded("extra", &edge.name, one)).collect();
        if let Some(marker) = &edge.marker
            && !self.holds(marker, &enabled, line)?
        {
            return Ok(());
        }
        self.enabled.extend(enabled);
        self.held.push(edge);
        for index in self.targets(edge) {
            self.push(index, None);
            for extra in &edge.extras {
                self.push(index, Some(extra.clone()));
            }
        }
        Ok(())
    }

    fn targets(&self, edge: &Edge) -> Vec<usize> {
        let all = self.by_name.get(edge.name.as_str()).map_or(&[][..], Vec::as_slice);
        let fits = |index: &&usize| {
            let package = &self.lock.packages[**index];
            let allowed = |version| edge.versions.contains(version);
            !self.excluded.contains(*index)
                && edge.source.as_ref().is_none_or(|source| *source == package.source)
                && edge.exact.as_ref().is_none_or(|exact| package.version.as_ref() == Some(exact))
                && (edge.versions.is_empty() || package.version.as_ref().is_some_and(allowed))
        };
        all.iter().filter(fits).copied().collect()
    }

    /// Of packages that were found in several versions, those that not all requirements allow: before 2.1,
    /// `poetry.lock` does not say which one is for which Python.
    fn other_versions(&self) -> Result<BTreeSet<usize>, ProjectError> {
        let mut others = BTreeSet::new();
        for (name, all) in &self.by_name {
            let in_walk = all.iter().copied().filter(|index| self.found.contains(index));
            let found: Vec<usize> = in_walk.collect();
            if found.len() < 2 {
                continue;
            }
            let edges = || self.held.iter().filter(|edge| edge.name == *name);
            let allowed = |index: &usize| {
                let version = self.lock.packages[*index].version.as_ref();
                edges().all(|edge| version.is_some_and(|version| edge.versions.contains(version)))
            };
            let (fitting, rest): (Vec<usize>, Vec<usize>) = found.into_iter().partition(allowed);
            if fitting.len() != 1 {
                let (file, name) = (self.lock.file.clone(), (*name).to_owned());
                return Err(ProjectError::LockUndecided { file, name, command: self.lock.format.command() });
            }
            others.extend(rest);
        }
        Ok(others)
    }

    /// Whether a package is installed by what it says itself.
    fn holds_itself(&mut self, one: &'l Locked) -> Result<bool, ProjectError> {
        let condition = &one.condition;
        if let Some(marker) = &condition.marker
            && !self.holds(marker, &[], one.line)?
        {
            return Ok(false);
        }
        let mut of_groups = condition.groups.iter().flatten();
        let has_marker = condition.marker.is_some() || of_groups.any(|group| group.marker.is_some());
        // The marker of an optional package names its extra.
        if condition.optional && !has_marker {
            return Ok(false);
        }
        let Some(groups) = &condition.groups else { return Ok(true) };
        for group in groups {
            let chosen = group.name == MAIN || self.target.groups.contains(&group.name);
            let marker = group.marker.as_ref();
            if chosen && marker.map_or(Ok(true), |marker| self.holds(marker, &[], one.line))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a marker holds; `enabled`: with these extras too.
    fn holds(&mut self, marker: &str, enabled: &[String], line: usize) -> Result<bool, ProjectError> {
        if let Some(known) = self.markers.get(marker).filter(|_| enabled.is_empty()) {
            return Ok(*known);
        }
        let parsed = Marker::parse(marker).map_err(|why| ProjectError::LockMarker {
            file: self.lock.file.clone(),
            line: line.max(1),
            text: marker.to_owned(),
            why,
        })?;
        let extras: Vec<String> = self.active.iter().chain(enabled).cloned().collect();
        let holds = parsed.holds(&self.environment, &extras);
        if enabled.is_empty() {
            self.markers.insert(marker.to_owned(), holds);
        }
        Ok(holds)
    }
}

/// The extras by which markers are evaluated. uv writes those that conflict with others with the package that
/// has them; the number is the length of its name: `extra-7-project-cuda`, `group-7-project-dev`,
/// `project-7-project`.
fn active(lock: &Lock, target: Target<'_>) -> BTreeSet<String> {
    let Roots::Packages(roots) = &lock.roots else { return target.extras.iter().cloned().collect() };
    let mut active = BTreeSet::new();
    for root in roots {
        let package = &lock.packages[*root].name;
        active.insert(format!("project-{}-{package}", package.len()));
        active.extend(target.extras.iter().map(|extra| coded("extra", package, extra)));
        active.extend(target.groups.iter().map(|group| coded("group", package, group)));
    }
    active
}

fn coded(kind: &str, package: &str, name: &str) -> String {
    format!("{kind}-{}-{package}-{name}", package.len())
}
