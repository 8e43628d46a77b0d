//! A volume that is not mounted at the directory of a database.

use crate::read::compose::{Compose, IsStack, Service, Source};
use crate::rule::{Example, Found, Judge, Rule, Severity, compose, named};

pub(crate) const RULE: Rule = Rule {
    id: "database-outside-volume",
    severity: Severity::Error,
    summary: "volumes for databases are mounted where the image keeps its data",
    explain: include_str!("database_outside_volume.md"),
    judge: Judge::Containers(judge),
    fires: &[
        compose(
            "services:\n  db:\n    image: postgres:16\n    environment: {POSTGRES_PASSWORD: x}\n    \
             volumes: [\"pg:/var/lib/postgresql\"]\nvolumes: {pg: }\n",
        ),
        compose(
            "services:\n  vectors:\n    image: pgvector/pgvector:0.8.0-pg17\n    volumes:\n      - {type: \
             bind, source: ./pg, target: /var/lib/postgresql/}\n",
        ),
        compose(
            "services:\n  db:\n    image: postgres:18-alpine\n    volumes: \
             [\"pg:/var/lib/postgresql/data\"]\nvolumes: {pg: }\n",
        ),
        compose("services:\n  runs:\n    image: mongo:7\n    volumes: [\"./mongo:/data\"]\n"),
        named(
            "db.sh",
            "docker run -d --name db -e POSTGRES_PASSWORD=x -v pg:/var/lib/postgresql postgres:15.4\n",
        ),
        compose("services:\n  db:\n    image: postgres\n    volumes: [\"./pg:/var/lib/postgresql/data\"]\n"),
    ],
    silent: &[
        compose(
            "services:\n  db:\n    image: postgres:16\n    volumes: [\"pg:/var/lib/postgresql/data\"]\n  \
             new:\n    image: postgres:18\n    volumes: [\"new:/var/lib/postgresql\"]\n  test:\n    image: \
             postgres:16\n    tmpfs: [/var/lib/postgresql]\nvolumes: {pg: , new: }\n",
        ),
        compose(
            "services:\n  db:\n    image: postgres:16\n    environment: {PGDATA: \
             /var/lib/postgresql/16/main}\n    volumes: [\"pg:/var/lib/postgresql\"]\n  own:\n    build: \
             .\n    volumes: [\"pg:/var/lib/postgresql\"]\nvolumes: {pg: }\n",
        ),
        compose(
            "services:\n  both:\n    image: postgres:15\n    volumes: [\"home:/var/lib/postgresql\", \
             \"pg:/var/lib/postgresql/data\"]\n  runs:\n    image: mongo:7\n    volumes: \
             [\"runs:/data/db\"]\n  other:\n    image: mongo:7\n    command: [--dbpath, /data/own]\n    \
             volumes: [\"runs:/data\"]\n  seed:\n    image: postgres:16\n    volumes: \
             [\"./init:/docker-entrypoint-initdb.d:ro\"]\nvolumes: {home: , pg: , runs: }\n",
        ),
        with_env(
            "services:\n  db:\n    image: postgres:16\n    env_file: db.env\n    volumes: \
             [\"pg:/var/lib/postgresql\"]\nvolumes: {pg: }\n",
            &[("db.env", "PGDATA=/var/lib/postgresql/16\n")],
        ),
    ],
};

const fn with_env(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "compose.yaml", text, companions }
}

/// The first release of postgres whose image keeps its data in a directory of the release.
const VERSIONED: u32 = 18;
/// Where images of postgres before that have their volume.
const POSTGRES_DATA: &str = "/var/lib/postgresql/data";

/// What the image of a database does.
struct Database<'i> {
    image: &'i str,
    /// The directory of its data, which is a volume of the image.
    data: String,
    /// The release of postgres; `None` for another database.
    postgres: Option<u32>,
    /// Whether the tag is that of the newest release.
    newest: bool,
}

fn judge(file: &Compose) -> Vec<Found> {
    let own = file.services.iter().filter(|one| {
        !one.extends_elsewhere && one.at(&["build"]).is_none() && one.at(&["volumes_from"]).is_none()
    });
    own.filter(|_| file.stack != IsStack::Yes).filter_map(|service| fault(file, service)).collect()
}

fn fault(file: &Compose, service: &Service) -> Option<Found> {
    let image = service.text("image")?;
    let database = database(&image)?;
    let mounts = service.mounts();
    if is_elsewhere(file, service) || mounts.iter().any(|one| one.target.contains('$')) {
        return None;
    }
    let Database { image, data, .. } = &database;
    let line = service.line_of("volumes");
    let kept = mounts.iter().filter(|one| one.source != Source::Memory);
    match service.mount_of(data) {
        // The volume of the image lies over a mount of a directory above it.
        Some(mount) if mount.target != *data && mount.source != Source::Memory => {
            if database.postgres.is_some_and(|release| release >= VERSIONED) {
                return None;
            }
            let message = format!(
                "{}: {image} stores its data in {data}, which the mount at {} does not cover; Docker keeps \
                 the data in an anonymous volume that a new container does not get",
                service.title, mount.target
            );
            Some(Found::error(line, message, format!("Mount the volume at {data}")))
        }
        None if database.postgres.is_some_and(|release| release >= VERSIONED) => {
            let old = kept.into_iter().find(|one| one.target == POSTGRES_DATA)?;
            let release = database.postgres?;
            let message = format!(
                "{}: the image of postgres {release} stores its data in {data} and does not start with a \
                 mount at {} (`unused mount/volume`)",
                service.title, old.target
            );
            let fix =
                "Mount the volume at /var/lib/postgresql, or use an earlier release such as `postgres:17`";
            Some(Found::error(line, message, fix).unless_certain(!database.newest))
        }
        _ => None,
    }
}

/// Whether a variable or an option may name another directory.
fn is_elsewhere(file: &Compose, service: &Service) -> bool {
    const OPTIONS: &[&str] = &["-D", "--datadir", "--dbpath", "--config", "-f"];
    let words = service.words();
    let by_option = words.iter().any(|word| OPTIONS.iter().any(|one| word.starts_with(one)));
    let in_file = service.at(&["env_file"]).is_some_and(|_| {
        let texts = service.env_files().into_iter().map(|path| file.files.get(&path).cloned().flatten());
        let texts: Option<Vec<String>> = texts.collect();
        texts.is_none_or(|texts| texts.is_empty() || texts.iter().any(|text| text.contains("PGDATA")))
    });
    let named = words.iter().any(|word| word.contains("data_directory"));
    service.environment().contains_key("PGDATA") || by_option || named || in_file
}

/// The database of an image whose release its tag tells.
fn database(image: &str) -> Option<Database<'_>> {
    let bare = image.strip_prefix("docker.io/").unwrap_or(image);
    let bare = bare.strip_prefix("library/").unwrap_or(bare).split('@').next()?;
    let (name, tag) = match bare.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (bare, "latest"),
    };
    let number = |text: &str| {
        let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse::<u32>().ok()
    };
    let newest = tag == "latest" && name == "postgres" && !image.contains('@');
    let release = match name {
        "postgres" if newest => Some(VERSIONED),
        "postgres" | "postgis/postgis" => number(tag),
        "pgvector/pgvector" | "timescale/timescaledb" => number(tag.split_once("pg")?.1),
        "mongo" => {
            return Some(Database { image, data: "/data/db".to_owned(), postgres: None, newest: false });
        }
        "mysql" => {
            return Some(Database {
                image,
                data: "/var/lib/mysql".to_owned(),
                postgres: None,
                newest: false,
            });
        }
        _ => None,
    }?;
    let data = match release < VERSIONED {
        true => POSTGRES_DATA.to_owned(),
        false => format!("/var/lib/postgresql/{release}/docker"),
    };
    Some(Database { image, data, postgres: Some(release), newest })
}
