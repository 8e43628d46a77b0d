//! The configurations of Triton's models, in the directories that a compose file mounts, and env files.

use std::path::Path;

use super::super::roots::Around;
use super::OTHERS_LIMIT;
use crate::model_path::repositories;
use crate::read::compose::Compose;
use crate::read::dockerfile::copied::join;
use crate::{File, Stack};
use host::file;

/// Adds the env files next to those that do not exist: one of them may be meant.
pub(super) fn near_env_files(file: &mut File, folder: &Path, around: &mut Around<'_>) {
    let missing = crate::env_files(file).into_iter().map(|path| join("", &path));
    let missing: Vec<String> = missing.filter(|path| matches!(file.context.get(path), Some(None))).collect();
    for path in missing {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned();
        let entries = file::entries(&folder.join(&parent)).into_iter().filter(|entry| file::is_file(entry));
        let names = entries.filter_map(|entry| Some(entry.file_name()?.to_str()?.to_owned()));
        for name in names.filter(|name| name.contains("env")).take(OTHERS_LIMIT) {
            let name = join(&parent, &name);
            if !file.context.contains_key(&name) {
                let text = around.text(&folder.join(&name)).as_deref().map(str::to_owned);
                file.context.extend(text.map(|text| (name, Some(text))));
            }
        }
    }
}

/// Adds `MODEL/config.pbtxt` of the repositories that a Triton of the file reads.
pub(super) fn of_models(file: &mut File, folder: &Path, around: &mut Around<'_>) {
    if !file.text.contains("tritonserver") {
        return;
    }
    let compose = Compose::read(file.catalog, &file.text, &file.over, Stack::Unsaid);
    for repository in compose.services.iter().flat_map(repositories).take(OTHERS_LIMIT) {
        let whole = folder.join(&repository);
        if !around.contains(&whole) {
            continue;
        }
        let models = file::entries(&whole).into_iter().filter(|entry| file::is_directory(entry));
        let names = models.filter_map(|entry| Some(entry.file_name()?.to_str()?.to_owned()));
        for name in names.take(OTHERS_LIMIT) {
            let path = join(&repository, &format!("{name}/config.pbtxt"));
            let text = around.text(&folder.join(&path)).as_deref().map(str::to_owned);
            file.context.extend(text.map(|text| (path, Some(text))));
        }
    }
}
