//! Ten thousand resolutions in one process: `cargo bench --bench resolve`.

use std::time::Instant;

use resolve::parameter::Source;
use resolve::request::{Request, Requirement, RequirementKind};
use resolve::{has_stack, resolve};

fn request(number: usize) -> Request {
    let pick = |list: &[&'static str], place: usize| list[number / place % list.len()];
    let mut requirements = Vec::new();
    let mut add = |part: &str, text: &str| {
        let versions = text.parse().expect("a version");
        let kind = match part {
            "cuda" => RequirementKind::Cuda(versions),
            "python" => RequirementKind::Python(versions),
            "torch" => RequirementKind::Torch(versions),
            name => RequirementKind::Package(name.to_owned(), versions),
        };
        requirements.push(Requirement { source: Source::Stated(format!("--{part} {text}")), kind });
    };
    add("python", pick(&["3.10", "3.11", "3.12", "3.13", ">=3.9"], 1));
    add("cuda", pick(&["12.1", "12.4", "12.6", ">=12", "11.8", "13.0", "12.8"], 5));
    match pick(&["", "deepspeed", "transformers", "trl"], 35) {
        "" => {}
        name => add(name, ""),
    }
    match pick(&["", ">=2.4", "<2.7"], 140) {
        "" => {}
        versions => add("torch", versions),
    }
    Request { requirements, today: "2026-11-21".into(), ..Request::default() }
}

fn main() {
    let start = Instant::now();
    resolve(resolve::testing::universe(), &request(0));
    let first = start.elapsed();
    let start = Instant::now();
    let stacks =
        (0..10_000).filter(|number| has_stack(resolve::testing::universe(), &request(*number))).count();
    let searched = start.elapsed();
    let start = Instant::now();
    let found = (0..10_000)
        .filter(|number| {
            matches!(
                resolve(resolve::testing::universe(), &request(*number)),
                resolve::outcome::Outcome::Resolved(_)
            )
        })
        .count();
    let all = start.elapsed();
    #[expect(clippy::print_stdout, reason = "the result of the benchmark")]
    {
        println!("first resolution, catalog read: {:.1} ms", first.as_secs_f64() * 1e3);
        println!("10000 resolutions: {:.2} s, {stacks} with a stack", searched.as_secs_f64());
        println!(
            "10000 with every reason, and the conflict where there is none: {:.2} s, {found} with a stack",
            all.as_secs_f64()
        );
    }
}
