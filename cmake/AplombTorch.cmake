# LibTorch, the one of the torch wheel: the target aplomb_torch, and aplomb_torch_sources(TARGET) for what includes it.
#
# Where it is: APLOMB_TORCH (the folder `torch/share/cmake` of a wheel or of a LibTorch archive), else what
# `torch.utils.cmake_prefix_path` says in Python_EXECUTABLE, in .venv/bin/python or in python3, the first that has torch.
set(APLOMB_TORCH "" CACHE PATH "Folder share/cmake of LibTorch (empty: ask Python)")

set(APLOMB_TRAIN_PYTHON "")  # the Python that has torch; tests beside transformers and peft run in it
find_program(APLOMB_SYSTEM_PYTHON python3)
foreach(candidate "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/.venv/bin/python" "${APLOMB_SYSTEM_PYTHON}")
  if(NOT candidate OR NOT EXISTS "${candidate}" OR APLOMB_TRAIN_PYTHON)
    continue()
  endif()
  execute_process(COMMAND "${candidate}" -c "import torch; print(torch.utils.cmake_prefix_path)"
                  RESULT_VARIABLE without OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(without EQUAL 0)
    set(APLOMB_TRAIN_PYTHON "${candidate}")
    if(NOT APLOMB_TORCH)
      set(APLOMB_TORCH "${found}" CACHE PATH "Folder share/cmake of LibTorch (empty: ask Python)" FORCE)
    endif()
  endif()
endforeach()
if(NOT APLOMB_TORCH)
  message(FATAL_ERROR "APLOMB_TRAIN needs LibTorch, and no Python here has torch (asked: Python_EXECUTABLE, "
                      ".venv/bin/python, python3). Run ./check venv, or set APLOMB_TORCH to torch/share/cmake of a wheel.")
endif()
find_package(Torch REQUIRED HINTS "${APLOMB_TORCH}")

add_library(aplomb_torch INTERFACE)
target_include_directories(aplomb_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_link_libraries(aplomb_torch INTERFACE ${TORCH_LIBRARIES})
separate_arguments(flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(aplomb_torch INTERFACE ${flags})
# The wheel's headers bring their own fmt, newer than Debian's library: files that see both use it without a library.
target_compile_definitions(aplomb_torch INTERFACE FMT_HEADER_ONLY)
# at::parallel_for is OpenMP inlined here: without the flag it would run on one thread. It must be the wheel's own
# OpenMP library, for two of them would start twice the threads.
target_compile_options(aplomb_torch INTERFACE -fopenmp)
file(GLOB openmp "${TORCH_INSTALL_PREFIX}/lib/libgomp*.so*")
if(openmp)
  list(GET openmp 0 openmp)
  target_link_libraries(aplomb_torch INTERFACE "${openmp}")
else()
  target_link_options(aplomb_torch INTERFACE -fopenmp)
endif()

# torch's headers take a quarter of a minute a file: they are compiled once, by the first target, and shared by the others.
# Not torch/torch.h: each file that gets the compiled headers also instantiates the templates that they left pending, which
# for torch.nn, its data loaders and TorchScript takes longer than most files here themselves.
function(aplomb_torch_sources target)
  target_link_libraries(${target} PUBLIC aplomb_torch)
  get_property(first GLOBAL PROPERTY APLOMB_TORCH_PRECOMPILED)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE <torch/types.h>)
    set_property(GLOBAL PROPERTY APLOMB_TORCH_PRECOMPILED ${target})
  endif()
endfunction()
