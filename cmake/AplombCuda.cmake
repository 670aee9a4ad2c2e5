# The CUDA kernels of the scan: built where nvcc is found, left out (with a line that says so) where it is not.
# aplomb_cuda(TARGET) adds src/scan/cuda to the target and defines APLOMB_HAS_CUDA for it.
option(APLOMB_CUDA "Build the CUDA kernels of the scan where nvcc is found" ON)

if(APLOMB_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)  # T4, A100, H100 and, through its PTX, what comes after
      set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90)
    endif()
    enable_language(CUDA)
    find_library(APLOMB_CUDA_RUNTIME cudart_static HINTS ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES})
    message(STATUS "CUDA kernels: ${CMAKE_CUDA_COMPILER_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")
  else()
    message(STATUS "CUDA kernels: left out (no nvcc)")
  endif()
else()
  message(STATUS "CUDA kernels: left out (APLOMB_CUDA is OFF)")
endif()

function(aplomb_cuda target)
  if(NOT APLOMB_CUDA OR NOT CMAKE_CUDA_COMPILER)
    return()
  endif()
  target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src/scan/cuda/gpu_scan.cu")
  # Not CUDA_STANDARD: CMake 3.25 does not know that nvcc 13 speaks C++20.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
  target_compile_definitions(${target} PRIVATE APLOMB_HAS_CUDA)
  # Static: a program that is built here runs where there is no CUDA.
  set_target_properties(${target} PROPERTIES CUDA_RUNTIME_LIBRARY Static)
  target_link_libraries(${target} PRIVATE ${APLOMB_CUDA_RUNTIME} Threads::Threads ${CMAKE_DL_LIBS} rt)
endfunction()
