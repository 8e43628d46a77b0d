//! From a resolved request to its files, a thousand times: `cargo bench --bench render`.

use std::time::Instant;

use image::plan::plan;
use image::render;
use image::request::ImageRequest;
use resolve::outcome::Outcome;
use resolve::request::Request;
use resolve::{parse, resolve};

const TIMES: u32 = 1000;

fn main() {
    let text = "presets: [finetune]\napt: [git]\nuser: trainer\ncopy: [{from: src, to: /workspace/src}]\n";
    let request = ImageRequest::parse("request.yaml", text).expect("a request");
    let requirements = parse::requirements(resolve::testing::universe(), &request.stack_options())
        .expect("requirements")
        .requirements;
    let asked = Request { requirements, today: "2026-11-21".into(), ..Request::default() };
    let Outcome::Resolved(resolution) = resolve(resolve::testing::universe(), &asked) else {
        panic!("no stack")
    };
    let once = || {
        let plan = plan(catalog::testing::catalog(), &request, &resolution).expect("a plan");
        render::files(&plan).expect("files").iter().map(|file| file.text.len()).sum::<usize>()
    };
    let start = Instant::now();
    let bytes = once();
    let first = start.elapsed();
    let start = Instant::now();
    for _ in 0..TIMES {
        std::hint::black_box(once());
    }
    let each = start.elapsed() / TIMES;
    #[expect(clippy::print_stdout, reason = "the result of the benchmark")]
    {
        println!("first: {:.3} ms", first.as_secs_f64() * 1e3);
        println!("each of {TIMES}: {:.3} ms, {bytes} bytes", each.as_secs_f64() * 1e3);
    }
}
