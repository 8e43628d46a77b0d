fn main() {
    println!("router");
}
