# A formula for Homebrew on Linux (the program needs Landlock and seccomp, which macOS has not). Untried: it has been built nowhere, and there
# is no release yet, so that only `brew install --HEAD` could work.
class Aplomb < Formula
  desc "Finds out why a deep-learning training run went wrong, and how to mend it"
  homepage "https://github.com/aplomb/aplomb"
  license "Apache-2.0"
  head "https://github.com/aplomb/aplomb.git", branch: "main"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "pkgconf" => :build
  depends_on "protozero" => :build
  depends_on "tomlplusplus" => :build
  depends_on "fmt"
  depends_on "highway"
  depends_on "libarchive"
  depends_on "libpq"
  depends_on "libseccomp"
  depends_on :linux
  depends_on "ncurses"
  depends_on "pcre2"
  depends_on "re2"
  depends_on "simdjson"
  depends_on "snowball"
  depends_on "sqlite"
  depends_on "utf8proc"
  depends_on "yaml-cpp"
  depends_on "zlib"
  depends_on "zstd"
  # tl-expected and libmd are no formulae that are known here: a tap has to bring them.

  def install
    system "cmake", "-S", ".", "-B", "build/brew", "-G", "Ninja", *std_cmake_args,
           "-DAPLOMB_TESTS=OFF", "-DAPLOMB_TRAIN=OFF", "-DAPLOMB_CUDA=OFF"
    system "cmake", "--build", "build/brew", "--target", "aplomb"
    bin.install "build/brew/aplomb"
    generate_completions_from_executable(bin/"aplomb", "completion", shells: [:bash, :zsh, :fish])
  end

  test do
    (testpath/"train.log").write "step 1 | loss 2.5\nstep 2 | loss nan\n"
    assert_match "nan", shell_output("#{bin}/aplomb diagnose #{testpath}/train.log", 1)
  end
end
