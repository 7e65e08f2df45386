from gblint.knowledge.generate.command import main

main()
