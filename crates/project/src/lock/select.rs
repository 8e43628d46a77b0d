//! What of a lock is installed on a machine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use resolve::marker::{Environment, Marker};

use super::{Edge, Lock, LockFormat, Locked, LockedSource, Roots, Target};
use crate::error::ProjectError;

/// The group of a project's own dependencies in `poetry.lock`.
const MAIN: &str = "main";

impl Lock {
    /// The packages that are installed, without the project itself, in the order of the file.
    ///
    /// # Errors
    ///
    /// A marker of the file cannot be evaluated.
    pub fn selected(&self, choice: Target<'_>) -> Result<Vec<&Locked>, ProjectError> {
        let mut walk = Walk::new(self, choice)?;
        match &self.roots {
            Roots::Everything => {
                let everything = self.packages.iter().enumerate();
                for (index, one) in everything {
                    if walk.holds_itself(one)? {
                        walk.found.insert(index);
                    }
                }
            }
            Roots::Packages(roots) => {
                for root in roots {
                    walk.root(*root)?;
                }
            }
            Roots::Declared => {
                for edge in choice.declared {
                    walk.edge(edge, 0)?;
                }
            }
        }
        walk.rest()?;
        let installed = |one: &&Locked| one.version.is_some() && matches!(one.source, LockedSource::Index(_));
        Ok(walk.found.iter().map(|index| &self.packages[*index]).filter(installed).collect())
    }
}

impl Lock {
    /// The directories of packages that the project requires and that lie in the repository, relative to the
    /// lock, without its own: whatever markers say.
    pub(crate) fn directories(&self) -> Vec<&str> {
        let Roots::Packages(roots) = &self.roots else { return Vec::new() };
        let mut found: Vec<usize> = roots.clone();
        let mut next = 0;
        while let Some(index) = found.get(next).copied() {
            let edges = &self.packages[index].dependencies;
            let required = |one: &Locked| edges.iter().any(|edge| edge.name == one.name);
            let local = self.packages.iter().enumerate().filter(|(_, one)| one.directory.is_some());
            let new: Vec<usize> = local.filter(|(_, one)| required(one)).map(|(index, _)| index).collect();
            let new: Vec<usize> = new.into_iter().filter(|index| !found.contains(index)).collect();
            found.extend(new);
            next += 1;
        }
        let directories = found.iter().filter_map(|index| self.packages[*index].directory.as_deref());
        directories.filter(|directory| *directory != ".").collect()
    }
}

/// A walk from the roots along what they require.
struct Walk<'l> {
    lock: &'l Lock,
    choice: Target<'l>,
    environment: Environment,
    /// Extras by which markers are evaluated.
    extras: Vec<String>,
    by_name: BTreeMap<&'l str, Vec<usize>>,
    /// What each marker was evaluated to.
    markers: BTreeMap<String, bool>,
    /// Packages, and extras of them, whose requirements are still to be looked at.
    queue: VecDeque<(usize, Option<String>)>,
    seen: BTreeSet<(usize, Option<String>)>,
    found: BTreeSet<usize>,
}

impl<'l> Walk<'l> {
    fn new(lock: &'l Lock, choice: Target<'l>) -> Result<Walk<'l>, ProjectError> {
        let environment = Environment::new(choice.python, choice.architecture)
            .map_err(|why| ProjectError::LockEnvironment { file: lock.file.clone(), why })?;
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, one) in lock.packages.iter().enumerate() {
            by_name.entry(&one.name).or_default().push(index);
        }
        Ok(Walk {
            lock,
            choice,
            environment,
            extras: extras(lock, choice),
            by_name,
            markers: BTreeMap::new(),
            queue: VecDeque::new(),
            seen: BTreeSet::new(),
            found: BTreeSet::new(),
        })
    }

    fn root(&mut self, root: usize) -> Result<(), ProjectError> {
        let package: &'l Locked = &self.lock.packages[root];
        self.push(root, None);
        for extra in self.choice.extras {
            self.push(root, Some(extra.clone()));
        }
        for group in self.choice.groups {
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
    fn edge(&mut self, edge: &Edge, line: usize) -> Result<(), ProjectError> {
        if let Some(marker) = &edge.marker
            && !self.holds(marker, line)?
        {
            return Ok(());
        }
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
            edge.source.as_ref().is_none_or(|source| *source == package.source)
                && edge.exact.as_ref().is_none_or(|exact| package.version.as_ref() == Some(exact))
                && (edge.versions.is_empty() || package.version.as_ref().is_some_and(allowed))
        };
        all.iter().filter(fits).copied().collect()
    }

    /// Whether a package is installed by what it says itself.
    fn holds_itself(&mut self, one: &'l Locked) -> Result<bool, ProjectError> {
        let condition = &one.condition;
        for marker in &condition.markers {
            if !self.holds(marker, one.line)? {
                return Ok(false);
            }
        }
        let mut of_groups = condition.groups.iter().flatten();
        let has_marker = !condition.markers.is_empty() || of_groups.any(|group| group.marker.is_some());
        // The marker of an optional package names its extra.
        if condition.optional && !has_marker {
            return Ok(false);
        }
        let Some(groups) = &condition.groups else { return Ok(true) };
        for group in groups {
            let chosen = group.name == MAIN || self.choice.groups.contains(&group.name);
            if chosen && group.marker.as_ref().map_or(Ok(true), |marker| self.holds(marker, one.line))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn holds(&mut self, marker: &str, line: usize) -> Result<bool, ProjectError> {
        if let Some(known) = self.markers.get(marker) {
            return Ok(*known);
        }
        let parsed = Marker::parse(marker).map_err(|why| ProjectError::LockMarker {
            file: self.lock.file.clone(),
            line: line.max(1),
            text: marker.to_owned(),
            why,
        })?;
        let holds = parsed.holds(&self.environment, &self.extras);
        self.markers.insert(marker.to_owned(), holds);
        Ok(holds)
    }
}

/// The extras of markers. uv writes those of conflicting extras and groups with the name of the package that
/// has them: `extra-7-project-cuda`, `group-7-project-dev`; the number is the length of the name.
fn extras(lock: &Lock, choice: Target<'_>) -> Vec<String> {
    let Roots::Packages(roots) = &lock.roots else { return choice.extras.to_vec() };
    let coded = |kind: &str, name: &str| {
        let of = |root: &usize| {
            let package = &lock.packages[*root].name;
            format!("{kind}-{}-{package}-{name}", package.len())
        };
        roots.iter().map(of).collect::<Vec<_>>()
    };
    let extras = choice.extras.iter().flat_map(|extra| coded("extra", extra));
    extras.chain(choice.groups.iter().flat_map(|group| coded("group", group))).collect()
}

impl Lock {
    /// Whether the dependencies of the project are needed to select packages.
    pub fn needs_declared(&self) -> bool {
        self.roots == Roots::Declared && self.format == LockFormat::Poetry
    }
}
