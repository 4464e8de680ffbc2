# The schemas of today must read what the frozen ones wrote: flatc --conform, old against new.
#   cmake -D FLATC=... -D GOLDEN=.../golden/v1/fbs -D CURRENT=.../fbs -D WORK=... -P conform_test.cmake
cmake_minimum_required(VERSION 3.22)

function(conforms OLD_DIR NEW_DIR NAME OUT)
  execute_process(
    COMMAND ${FLATC} -I ${NEW_DIR} --conform-includes ${OLD_DIR}
            --conform ${OLD_DIR}/${NAME} ${NEW_DIR}/${NAME}
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(${OUT} ${code} PARENT_SCOPE)
  set(${OUT}_TEXT "${output}" PARENT_SCOPE)
endfunction()

file(GLOB names RELATIVE ${GOLDEN} ${GOLDEN}/*.fbs)
if(NOT names)
  message(FATAL_ERROR "no frozen schemas in ${GOLDEN}")
endif()
foreach(name IN LISTS names)
  conforms(${GOLDEN} ${CURRENT} ${name} result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${name} breaks what is frozen: ${result_TEXT}")
  endif()
endforeach()

# The test itself: each of these breaks must be found.
function(must_break NAME FROM TO)
  file(REMOVE_RECURSE ${WORK})
  file(COPY ${CURRENT}/ DESTINATION ${WORK})
  file(READ ${WORK}/${NAME} text)
  string(REPLACE "${FROM}" "${TO}" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "${NAME} has no '${FROM}': renew this test")
  endif()
  file(WRITE ${WORK}/${NAME} "${changed}")
  conforms(${GOLDEN} ${WORK} ${NAME} result)
  if(result EQUAL 0)
    message(FATAL_ERROR "${NAME}: '${FROM}' -> '${TO}' went unnoticed")
  endif()
  if(NOT result_TEXT MATCHES "schemas don.t conform")
    message(FATAL_ERROR "${NAME}: flatc failed for another reason: ${result_TEXT}")
  endif()
endfunction()
must_break(data.fbs "use_arena: bool (id: 3);" "use_arena: int (id: 3);")
must_break(data.fbs "queue_ns: ulong (id: 2);" "queue_ns: uint (id: 2);")
must_break(control.fbs "batches: ulong (id: 1); samples: ulong (id: 2);"
  "batches: ulong (id: 2); samples: ulong (id: 1);")
must_break(control.fbs "heartbeat_ms: uint = 1000 (id: 4)" "heartbeat_ms: uint = 2000 (id: 4)")
must_break(plan.fbs "lanes: int = 1 (id: 6);\n  libraries: ClientLibraries (id: 7)"
  "lanes: int = 1 (id: 7);\n  libraries: ClientLibraries (id: 6)")
must_break(common.fbs "Unsupported = 10" "Unsupported = 11")
file(REMOVE_RECURSE ${WORK})
