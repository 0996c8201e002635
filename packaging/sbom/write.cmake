# Run by CPack when the tree of the package is there, stripped, and before it is packed: the bill of materials goes into it and beside the package.
set(inside usr/share/doc/agentd/agentd_${CPACK_PACKAGE_VERSION}.spdx.json)
set(tree ${CPACK_TEMPORARY_DIRECTORY})
execute_process(COMMAND ${CPACK_AR_PYTHON} ${CPACK_AR_SBOM}/sbom.py --tree ${tree} --maps ${CPACK_AR_MAPS} --version ${CPACK_PACKAGE_VERSION}
		--compiled libllhttp.a=${CPACK_AR_LLHTTP} --leave-out ${inside}
	OUTPUT_FILE ${CPACK_PACKAGE_DIRECTORY}/agentd_${CPACK_PACKAGE_VERSION}.spdx.json COMMAND_ERROR_IS_FATAL ANY)
file(COPY_FILE ${CPACK_PACKAGE_DIRECTORY}/agentd_${CPACK_PACKAGE_VERSION}.spdx.json ${tree}/${inside})
file(CHMOD ${tree}/${inside} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
